// The page: a conversation on one side, the source of a citation on the other.

import { byId, make, say } from "./dom.js";
import { showDocuments } from "./documents.js";
import { clearHistory, remember, showHistory } from "./history.js";
import { ask, hasKey, post, read, useKey } from "./http.js";
import { chooseView, closeSource } from "./source.js";
import { Turn } from "./turn.js";
import { addFiles, openUpload } from "./upload.js";

let conversation = null;
let mayIngest = false;

// Shows the collections of the caller. Keeps the chosen one. If it is none of them, chooses `stored` or the server's own.
async function loadCollections(stored) {
  const { collections, default: own, scopes } = await read("/v1/collections");
  const names = collections.map((each) => each.name);
  const current = byId("collection").value;
  const chosen = [current, stored].find((name) => names.includes(name)) ?? own;
  if (chosen !== current) conversation = null;
  const options = (list) => list.map((name) => make("option", { value: name, selected: name === chosen }, name));
  byId("collection").replaceChildren(...options(names.length ? names : [own]));
  byId("upload-collections").replaceChildren(...options(names));
  mayIngest = scopes.includes("ingest");
  byId("show-documents").hidden = !scopes.includes("read");
  byId("show-upload").hidden = !mayIngest;
  byId("show-key").hidden = !hasKey();
}

const carriesFiles = (event) => event.dataTransfer?.types.includes("Files") && !byId("show-upload").hidden;

async function submit(event) {
  event.preventDefault();
  const field = byId("question");
  const question = field.value.trim();
  if (!question) return;
  const turn = addTurn(question, byId("collection").value);
  closeSource();
  field.value = "";
  field.focus();
  grow();
  byId("ask").querySelector("button").disabled = true;
  try {
    conversation ??= (await post("/v1/conversations", {})).conversation_id;
    const form = { question, collection: turn.collection, conversation_id: conversation };
    const response = await ask(form, (stage) => turn.end(stage));
    remember(question, response);
    await turn.show(response);
    turn.reveal();
  } catch (problem) {
    turn.fail(problem);
    field.value ||= question;
  } finally {
    byId("ask").querySelector("button").disabled = false;
  }
}

function addTurn(question, collection) {
  byId("welcome").hidden = true;
  const turn = new Turn(question, collection);
  byId("turns").append(turn.element);
  turn.reveal();
  return turn;
}

async function openRun(runId) {
  const run = await read(`/v1/runs/${encodeURIComponent(runId)}`).catch((problem) => problem);
  const turn = addTurn(run.question || "The text of this question was erased.", run.collection);
  if (run.response) {
    await turn.show(run.response);
    turn.reveal();
  }
  else turn.fail({ message: run.message || "The run has not ended", nextStep: run.nextStep || "Open it again in a moment." });
}

function startAgain() {
  conversation = null;
  closeSource();
  byId("turns").replaceChildren();
  byId("welcome").hidden = false;
  byId("question").focus();
  say("A new conversation.");
}

function grow() {
  const field = byId("question");
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
}

byId("ask").addEventListener("submit", submit);
byId("question").addEventListener("input", grow);
byId("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    byId("ask").requestSubmit();
  }
});
byId("new").addEventListener("click", startAgain);
byId("collection").addEventListener("change", startAgain);
byId("show-documents").addEventListener("click", () => showDocuments(byId("collection").value, mayIngest, loadCollections));
byId("show-history").addEventListener("click", () => showHistory(openRun));
byId("clear-history").addEventListener("click", clearHistory);
byId("close-source").addEventListener("click", closeSource);
byId("view-page").addEventListener("click", () => chooseView(true));
byId("view-text").addEventListener("click", () => chooseView(false));
byId("show-upload").addEventListener("click", () => openUpload(byId("collection").value));
byId("upload-files").addEventListener("change", (event) => {
  addFiles([...event.target.files], loadCollections);
  event.target.value = ""; // so that the same file can be chosen again
});
document.addEventListener("dragover", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  openUpload(byId("collection").value);
  byId("drop").classList.add("over");
});
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) byId("drop").classList.remove("over"); });
document.addEventListener("drop", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  byId("drop").classList.remove("over");
  addFiles([...event.dataTransfer.files], loadCollections);
});
byId("show-key").addEventListener("click", () => byId("key").showModal());
for (const button of document.querySelectorAll("[data-closes]")) button.addEventListener("click", () => button.closest("dialog").close());
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !document.querySelector("dialog[open]")) closeSource(); });
document.addEventListener("key-needed", (event) => {
  byId("key-reason").textContent = `${event.detail.message} It is kept until this tab is closed.`;
  if (!byId("key").open) byId("key").showModal();
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(byId("key-text").value.trim());
  byId("key-text").value = "";
  byId("key").close();
  loadCollections().catch((problem) => say(problem.message));
});
loadCollections().catch((problem) => say(problem.message));
byId("question").focus();
