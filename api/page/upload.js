// Uploads with progress: one file after the other, each with its result.

import { byId, make } from "./dom.js";
import { upload } from "./http.js";

const SIDECAR = ".meta.toml";
const OUTCOMES = { added: "Added", replaced: "Replaced", unchanged: "Unchanged" };
const passages = (count) => `${count} ${count === 1 ? "passage" : "passages"}`;
let queue = Promise.resolve();

export function openUpload(collection) {
  if (byId("upload").open) return;
  byId("upload-collection").value = collection;
  byId("upload").showModal();
}

// Uploads files into the collection of the dialog. Calls `onStored` with the collection after each file that was stored.
export function addFiles(files, onStored) {
  const collection = byId("upload-collection").value.trim();
  if (!byId("upload-collection").reportValidity() || !collection) return;
  const labels = byId("upload-labels").value.split(/[\s,]+/).filter(Boolean);
  const names = new Set(files.map((file) => file.name));
  const isSidecar = (file) => file.name.endsWith(SIDECAR) && names.has(file.name.slice(0, -SIDECAR.length));
  for (const file of files.filter((each) => !isSidecar(each))) {
    const sidecars = files.filter((each) => each.name === file.name + SIDECAR);
    const row = new Row(file.name);
    queue = queue.then(() => send(row, collection, [file, ...sidecars], labels, onStored));
  }
}

async function send(row, collection, files, labels, onStored) {
  try {
    const report = await upload(collection, files, labels, (share) => row.sent(share), (step) => row.step(step));
    row.end(report);
    await onStored(collection);
  } catch (problem) {
    row.fail(problem);
  }
}

class Row {
  constructor(name) {
    this.name = name;
    this.bar = make("progress", { max: "1", value: "0", "aria-label": name });
    this.note = make("span", { class: "place" }, "Waiting");
    this.element = make("li", { class: "upload" }, make("span", { class: "name" }, name), this.bar, this.note);
    byId("uploads").prepend(this.element);
  }

  sent(share) {
    this.bar.value = share;
    this.note.textContent = share < 1 ? `Sending: ${Math.round(share * 100)} %` : "Reading";
    if (share === 1) this.bar.removeAttribute("value"); // the time that reading takes is not known
  }

  step(step) {
    this.note.textContent = step.chunks ? `Indexing: ${passages(step.chunks)}` : "Reading";
  }

  end(report) {
    const stored = report.files.find((file) => file.outcome !== "skipped");
    this.show(`${OUTCOMES[stored.outcome]}${report.chunks ? ` (${passages(report.chunks)})` : ""}`, "done");
  }

  fail(problem) {
    this.show(`${problem.message} ${problem.nextStep}`, "failed");
  }

  show(words, state) {
    this.bar.remove();
    this.element.classList.add(state);
    this.note.textContent = words;
    byId("upload-status").textContent = `${this.name}: ${words}`;
  }
}
