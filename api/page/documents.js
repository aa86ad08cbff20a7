// The documents of a collection: each with its state, its first page on demand, and its removal, which asks first.

import { byId, joined, make, say, sentence } from "./dom.js";
import { read, remove } from "./http.js";
import { openPage } from "./source.js";

const PAUSE = 200; // milliseconds without a key before the filter is sent
const counted = (count, name) => `${count} ${count === 1 ? name : `${name}s`}`;
const nothing = { documents: [], total: 0, next: null };
let shown = { collection: "", ...nothing, mayRemove: false, onRemoved: () => {} };
let asked = null; // the document that the dialog asks about
let reading = 0; // the number of the last request for documents
let pause = null;

// Opens the list. `onRemoved` is called after a document was removed.
export async function showDocuments(collection, mayRemove, onRemoved) {
  shown = { collection, ...nothing, mayRemove, onRemoved };
  byId("documents-title").textContent = `Documents of ${collection}`;
  byId("documents-filter").value = "";
  byId("documents-count").textContent = "Reading the list …";
  byId("documents-list").replaceChildren();
  byId("documents").showModal();
  await load();
}

// Reads the first documents with the words of the filter, or those after the ones that are shown.
async function load(after = null) {
  const [list, request] = [shown, ++reading];
  const isOld = () => list !== shown || request !== reading; // another list or filter was asked for meanwhile
  const wanted = byId("documents-filter").value.trim();
  const query = new URLSearchParams({ collection: list.collection, contains: wanted, ...(after === null ? {} : { after }) });
  try {
    const { documents, total, next_after: next } = await read(`/v1/documents?${query}`);
    if (isOld()) return;
    const earlier = after === null ? [] : list.documents;
    Object.assign(list, { documents: [...earlier, ...documents], total, next });
    render(wanted, earlier.length);
  } catch (problem) {
    if (isOld()) return;
    Object.assign(list, nothing);
    render(wanted, 0); // a list that cannot be read may name documents that are gone
    byId("documents-count").textContent = problem.code === "COLLECTION_NOT_FOUND" ? "No document yet." : `${sentence(problem.message)} ${problem.nextStep}`;
  }
}

// Shows the documents. The first `kept` rows are shown already.
function render(wanted, kept) {
  const { documents, total, next } = shown;
  const found = wanted ? `${counted(total, "document")} found` : counted(total, "document");
  byId("documents-count").textContent = next === null ? `${found}.` : `${found}, the first ${documents.length} are shown.`;
  const rows = documents.slice(kept).map(row);
  if (kept) byId("documents-list").append(...rows);
  else byId("documents-list").replaceChildren(...rows);
  byId("documents-more").hidden = next === null;
}

async function showMore() {
  const kept = shown.documents.length;
  byId("documents-more").disabled = true;
  await load(shown.next);
  byId("documents-more").disabled = false;
  byId("documents-status").textContent = byId("documents-count").textContent;
  byId("documents-list").children[kept]?.querySelector("button").focus(); // the reader goes on at the first new row
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
  const list = shown;
  const { collection, onRemoved } = list;
  byId("remove-document").disabled = true;
  try {
    await remove(`/v1/collections/${encodeURIComponent(collection)}/documents/${encodeURIComponent(item.knowledge_id)}`);
    if (asked === item) byId("removal").close();
    Object.assign(list, { documents: list.documents.filter((each) => each !== item), total: list.total - 1 });
    if (list === shown) render(byId("documents-filter").value.trim(), 0);
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

byId("documents-filter").addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(load, PAUSE);
});
byId("documents-more").addEventListener("click", showMore);
