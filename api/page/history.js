// The last questions of this browser. The list never leaves it.

import { byId, make } from "./dom.js";

const STORE = "sourcebound.history";
const MOST = 50;

const stored = () => {
  try { return JSON.parse(localStorage.getItem(STORE)) || []; } catch { return []; }
};

export function remember(question, response) {
  const entry = { run_id: response.run_id, question, status: response.status, asked_at: new Date().toISOString() };
  try { localStorage.setItem(STORE, JSON.stringify([entry, ...stored()].slice(0, MOST))); } catch { /* the store is full or closed */ }
}

export function showHistory(onChoice) {
  const dialog = byId("history");
  const items = stored().map((entry) => make("li", {}, make("button", {
    type: "button", class: "card", onclick: () => { dialog.close(); onChoice(entry.run_id); },
  }, make("span", {}, make("span", { class: "name" }, entry.question),
    make("span", { class: "place" }, `${new Date(entry.asked_at).toLocaleString()} · ${{ OK: "answered", NO_EVIDENCE: "refused" }[entry.status] || "failed"}`)))));
  byId("history-list").replaceChildren(...(items.length ? items : [make("li", { class: "hint" }, "No question yet.")]));
  dialog.showModal();
}

export function clearHistory() {
  localStorage.removeItem(STORE);
  byId("history").close();
}
