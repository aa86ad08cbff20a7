// The panel with a source: its page with the words that support the answer marked, at the place of those words. A page of
// a PDF is shown as it was printed, and as text on demand. Other documents are shown as text.

import { byId, joined, make, place, say } from "./dom.js";
import { read } from "./http.js";
import { printedPage } from "./printed.js";

let opener = null;
let opened = 0;
const SMALLEST_PAGE = 560; // pixels, below which the print of a page cannot be read

// Opens the source of a citation. `near` is the text of the statement that cites it: of several quotes, the closest one
// is scrolled to.
export async function openCitation(button, collection, runId, anchor, near) {
  const source = await read(`/v1/evidence/${encodeURIComponent(runId)}/${anchor}`);
  const page = source.page || { text: source.text, quotes: source.quotes, passage: null };
  show(button, source, source.page ? "" : "The document has changed since this answer. This is the passage that it was answered from.");
  const current = render(page.text, page.passage, page.quotes, near);
  if (page.has_image) await print(collection, source, page.number || 1, page.quotes, current);
}

// Opens a page without quotes, such as that of a near passage of a refused question.
export async function openPage(button, collection, item) {
  const path = `/v1/documents/${encodeURIComponent(item.knowledge_id)}/pages/${item.page_number || 1}`;
  const page = await read(`${path}?collection=${encodeURIComponent(collection)}`);
  const source = { ...item, revision: page.revision, title: page.title };
  show(button, source, "");
  render(page.text, null, [], "");
  if (page.has_image) await print(collection, source, page.number, [], null);
}

export function chooseView(isPrinted) {
  byId("source-page").hidden = !isPrinted;
  byId("source-text").hidden = isPrinted;
  byId("view-page").setAttribute("aria-pressed", String(isPrinted));
  byId("view-text").setAttribute("aria-pressed", String(!isPrinted));
  scrollToMark();
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
  byId("source-views").hidden = true;
  byId("source").hidden = false;
  opened += 1;
  chooseView(false);
}

// Shows the page as it was printed. Where that fails, its text stays.
async function print(collection, source, number, quotes, current) {
  const panel = byId("source-page");
  const turn = opened;
  panel.replaceChildren(make("p", { class: "hint" }, "Drawing the page …"));
  byId("source-views").hidden = false;
  chooseView(true);
  const label = `Page ${number} of ${source.title || source.knowledge_id}${quotes.length ? ", with the quoted words marked" : ""}`;
  try {
    const width = Math.max(panel.clientWidth, SMALLEST_PAGE);
    const page = await printedPage({ collection, knowledgeId: source.knowledge_id, number, quotes, current, label, width });
    if (turn !== opened) return; // another source was opened meanwhile
    panel.replaceChildren(page);
    if (quotes.length && !page.querySelector("rect")) chooseView(false); // the words are marked in the text only
    scrollToMark();
  } catch (problem) {
    if (turn !== opened) return;
    byId("source-views").hidden = true;
    chooseView(false);
    say(problem.message);
  }
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
  byId("source-title").focus({ preventScroll: true });
  scrollToMark();
  return current;
}

// Scrolls the view that is shown to the words that support the answer.
function scrollToMark() {
  const panel = byId(byId("source-text").hidden ? "source-page" : "source-text");
  const target = panel.querySelector(".current") || panel.querySelector("mark, rect, .passage");
  panel.scrollTo(0, 0);
  if (!target) return;
  const [at, frame] = [target.getBoundingClientRect(), panel.getBoundingClientRect()];
  panel.scrollTo(Math.max(0, at.left - frame.left - 24), at.top - frame.top - panel.clientHeight / 3);
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
