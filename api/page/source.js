// The panel with a source: its page with the words that support the answer marked, at the place of those words.

import { byId, joined, make, place } from "./dom.js";
import { read } from "./http.js";

let opener = null;

// Opens the source of a citation. `near` is the text of the statement that cites it: of several quotes, the closest one
// is scrolled to.
export async function openCitation(button, runId, anchor, near) {
  const source = await read(`/v1/evidence/${encodeURIComponent(runId)}/${anchor}`);
  const page = source.page || { text: source.text, quotes: source.quotes, passage: null };
  show(button, source, source.page ? "" : "The document has changed since this answer. This is the passage that it was answered from.");
  render(page.text, page.passage, page.quotes, near);
}

// Opens a page without quotes, such as that of a near passage of a refused question.
export async function openPage(button, collection, item) {
  const path = `/v1/documents/${encodeURIComponent(item.knowledge_id)}/pages/${item.page_number || 1}`;
  const page = await read(`${path}?collection=${encodeURIComponent(collection)}`);
  show(button, { ...item, revision: page.revision, title: page.title }, "");
  render(page.text, null, [], "");
}

export function closeSource() {
  if (byId("source").hidden) return;
  byId("source").hidden = true;
  if (opener) {
    opener.setAttribute("aria-expanded", "false");
    opener.focus();
  }
  opener = null;
}

function show(button, source, notice) {
  if (opener) opener.setAttribute("aria-expanded", "false");
  opener = button;
  button.setAttribute("aria-expanded", "true");
  byId("source-place").textContent = place(source) || "Source";
  byId("source-title").textContent = source.title || source.source_reference || source.knowledge_id;
  byId("source-meta").textContent = joined(
    source.revision ? `Revision ${source.revision}` : "", source.event_date, source.equipment_id, source.knowledge_id,
  );
  byId("source-notice").textContent = notice;
  byId("source-notice").hidden = !notice;
  byId("source").hidden = false;
}

function render(text, passage, quotes, near) {
  const characters = Array.from(reflow(text)); // offsets count code points, and reflowing changes none
  const words = (span) => characters.slice(span.start, span.end).join("");
  const current = closest(quotes, words, near);
  const edges = new Set([0, characters.length]);
  for (const span of [...quotes, ...(passage ? [passage] : [])]) edges.add(span.start).add(span.end);
  const places = [...edges].sort((a, b) => a - b);
  const parts = places.slice(0, -1).map((start, index) => {
    const end = places[index + 1];
    const covers = (span) => span !== null && span.start <= start && end <= span.end;
    const piece = words({ start, end });
    if (quotes.some(covers)) return make("mark", { class: current && covers(current) ? "current" : null }, piece);
    return covers(passage) ? make("span", { class: "passage" }, piece) : document.createTextNode(piece);
  });
  const panel = byId("source-text");
  panel.replaceChildren(...parts);
  const target = panel.querySelector("mark.current") || panel.querySelector("mark, .passage");
  byId("source-title").focus({ preventScroll: true });
  panel.scrollTop = 0;
  if (target) panel.scrollTop = target.offsetTop - panel.offsetTop - panel.clientHeight / 3;
}

// Joins the lines of a paragraph, which a PDF breaks at the width of its page: a long line that ends within a sentence.
function reflow(text) {
  return text.replace(/([^\n]{40,}[^\n.:;!?])\n(?=[\p{Ll}°%])/gu, "$1 ");
}

function closest(quotes, words, near) {
  const wanted = new Set(near.toLowerCase().match(/\w+/g) || []);
  const score = (quote) => (words(quote).toLowerCase().match(/\w+/g) || []).filter((word) => wanted.has(word)).length;
  return quotes.reduce((best, quote) => (best === null || score(quote) > score(best) ? quote : best), null);
}
