// The documents of a collection: each with its state, its first page on demand, and its removal, which asks first.

import { byId, joined, make, say, sentence } from "./dom.js";
import { read, remove } from "./http.js";
import { openPage } from "./source.js";

const MOST = 200; // rows that are shown at once
const counted = (count, name) => `${count} ${count === 1 ? name : `${name}s`}`;
let shown = { collection: "", documents: [], mayRemove: false, onRemoved: () => {} };
let asked = null; // the document that the dialog asks about

// Opens the list. `onRemoved` is called after a document was removed.
export async function showDocuments(collection, mayRemove, onRemoved) {
  shown = { collection, documents: [], mayRemove, onRemoved };
  byId("documents-title").textContent = `Documents of ${collection}`;
  byId("documents-filter").value = "";
  byId("documents-count").textContent = "Reading the list …";
  byId("documents-list").replaceChildren();
  byId("documents").showModal();
  await load();
}

async function load() {
  const list = shown;
  try {
    const { documents } = await read(`/v1/documents?collection=${encodeURIComponent(list.collection)}`);
    if (list !== shown) return; // another list was opened meanwhile
    shown.documents = documents;
    render();
  } catch (problem) {
    if (list !== shown) return;
    shown.documents = [];
    byId("documents-list").replaceChildren(); // a list that cannot be read may name documents that are gone
    byId("documents-count").textContent = problem.code === "COLLECTION_NOT_FOUND" ? "No document yet." : `${sentence(problem.message)} ${problem.nextStep}`;
  }
}

function render() {
  const wanted = byId("documents-filter").value.trim().toLowerCase();
  const words = (item) => joined(item.title, item.knowledge_id, item.revision, item.labels.join(" ")).toLowerCase();
  const found = shown.documents.filter((item) => words(item).includes(wanted));
  const more = found.length > MOST ? `, the first ${MOST} are shown` : "";
  byId("documents-count").textContent = wanted
    ? `${found.length} of ${counted(shown.documents.length, "document")}${more}.` : `${counted(found.length, "document")}${more}.`;
  byId("documents-list").replaceChildren(...found.slice(0, MOST).map(row));
}

function row(item) {
  const state = joined(
    item.revision ? `Revision ${item.revision}` : "", item.event_date, counted(item.pages, "page"),
    item.chunks ? counted(item.chunks, "passage") : "Not searchable: it has no passage",
    `Ingested ${item.ingested_at.slice(0, 10)}`,
  );
  const labels = item.labels.map((label) => make("span", { class: "label" }, label));
  const open = make("button", { type: "button", class: "small", "aria-label": `Open ${item.title}`, onclick: () => openFirst(item) }, "Open");
  const drop = make("button", { type: "button", class: "small", "aria-label": `Remove ${item.title}`, onclick: () => confirmRemoval(item) }, "Remove");
  return make("li", { class: "document" },
    make("div", {},
      make("span", { class: "name" }, item.title), make("span", { class: "place" }, item.knowledge_id),
      make("span", { class: "place" }, state),
      labels.length ? make("span", { class: "place" }, "Labels: ", ...labels) : null),
    make("div", {}, open, shown.mayRemove ? " " : null, shown.mayRemove ? drop : null));
}

async function openFirst(item) {
  byId("documents").close();
  try {
    await openPage(byId("show-documents"), shown.collection, { ...item, page_number: 1, section: "" });
  } catch (problem) {
    say(`${sentence(problem.message)} ${problem.nextStep}`);
  }
}

function confirmRemoval(item) {
  asked = item;
  byId("removal-text").textContent = `“${item.title}” (${item.knowledge_id}) is no longer found or shown. Records of earlier answers stay. `
    + "A file of it on the server stays too, and its next ingest adds it again.";
  byId("removal-problem").hidden = true;
  byId("remove-document").onclick = () => removeDocument(item);
  byId("removal").showModal();
}

async function removeDocument(item) {
  const { collection, onRemoved } = shown;
  byId("remove-document").disabled = true;
  try {
    await remove(`/v1/collections/${encodeURIComponent(collection)}/documents/${encodeURIComponent(item.knowledge_id)}`);
    if (asked === item) byId("removal").close();
    await load();
    byId("documents-status").textContent = `Removed ${item.title}.`;
    byId("documents-title").focus();
    await onRemoved();
  } catch (problem) {
    if (asked !== item) return; // the dialog asks about another document now
    byId("removal-problem").textContent = `${sentence(problem.message)} ${problem.nextStep}`;
    byId("removal-problem").hidden = false;
  } finally {
    byId("remove-document").disabled = false;
  }
}

byId("documents-filter").addEventListener("input", render);
