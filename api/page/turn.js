// One question with its stages, and then its answer, its refusal or its failure.

import { adviceFor } from "./advice.js";
import { joined, make, place, say, sentence } from "./dom.js";
import { post, read } from "./http.js";
import { madeDetails } from "./made.js";
import { openCitation, openPage } from "./source.js";

const STAGES = {
  accept: "Read the question", resolve: "Look at earlier questions", retrieve: "Search the documents",
  assemble: "Select evidence", select_facts: "Select facts", build_prompt: "Prepare the prompt",
  generate: "Write an answer", validate: "Check every statement", record: "Record", package: "Release",
};
const ORDER = Object.keys(STAGES);
const SUPPORT = {
  HIGH: "Well supported",
  MEDIUM: "In the sources: check that it answers your question",
  LOW: "Weakly supported, or hardly about your question: read the sources",
};
const NEAREST = 3;
const REFUSED = {
  unclear_follow_up: "Please ask the whole question.",
  collection_not_found: "There is nothing to search.",
};

export class Turn {
  constructor(question, collection) {
    this.collection = collection;
    this.body = make("div");
    this.stages = make("ol", { class: "stages", "aria-label": "Stages" });
    this.now = null;
    this.body.append(this.stages);
    this.element = make("li", { class: "turn" }, make("h2", { class: "asked", tabindex: "-1" }, question), this.body);
    this.begin("accept");
  }

  begin(stage) {
    this.now = make("li", { class: "now" }, STAGES[stage] || stage);
    this.stages.append(this.now);
    say(STAGES[stage] || stage);
  }

  // Notes that a stage has ended, and shows the next one.
  end(stage) {
    this.now.className = "";
    this.now.textContent = STAGES[stage] || stage;
    const next = { accept: "retrieve", assemble: "build_prompt" }[stage] || ORDER[ORDER.indexOf(stage) + 1];
    if (next) this.begin(next);
  }

  reveal() {
    this.element.querySelector(".asked").scrollIntoView({ block: "start", behavior: "smooth" });
  }

  fail(problem) {
    const outcome = make("div", { class: "outcome problem" }, make("h3", {}, sentence(problem.message)), make("p", {}, problem.nextStep));
    this.body.replaceChildren(outcome);
    say(problem.message);
  }

  async show(response) {
    const notes = [...response.notices, response.missing ? `Not in the evidence: ${response.missing}` : ""].filter(Boolean);
    const parts = { OK: () => this.answer(response), NO_EVIDENCE: () => this.refusal(response), FAILED: () => this.failure(response) };
    const shown = await parts[response.status]();
    this.body.replaceChildren(
      ...shown, ...notes.map((note) => make("p", { class: "notice" }, sentence(note))),
      ...(response.advice ? [make("p", { class: "advice" }, sentence(adviceFor(response)))] : []),
      feedback(response.run_id), madeDetails(response.run_id),
    );
    say({ OK: "The answer is here.", NO_EVIDENCE: "The question is refused.", FAILED: "No answer was released." }[response.status]);
  }

  answer(response) {
    const text = make("div", { class: "answer" }, ...this.cited(response));
    const cards = response.citations.map((citation, index) => this.sourceCard(response, citation, index + 1));
    const level = response.support_level;
    return [
      text,
      level ? make("p", { class: `support ${level}` }, SUPPORT[level]) : null,
      make("ol", { class: "list", "aria-label": "Sources" }, ...cards),
    ].filter(Boolean);
  }

  // Returns the validated text with a button for each citation.
  cited(response) {
    const numbers = new Map(response.citations.map((citation, index) => [citation.anchor, index + 1]));
    const pieces = response.answer.split(/(\s*\[C(?:0|[1-9][0-9]*)\])/);
    let before = "";
    const parts = pieces.map((piece) => {
      const anchor = /\[(C\d+)\]/.exec(piece)?.[1];
      if (!anchor || !numbers.has(anchor)) {
        if (piece.trim()) before = piece;
        return make("span", {}, piece);
      }
      const statement = before;
      const name = response.citations[numbers.get(anchor) - 1];
      const button = make("button", {
        type: "button", class: "cite", "aria-expanded": "false",
        "aria-label": `Source ${numbers.get(anchor)}: ${joined(name.title || name.knowledge_id, place(name))}`,
        onclick: () => this.opening(() => openCitation(button, this.collection, response.run_id, anchor, statement)),
      }, String(numbers.get(anchor)));
      return button;
    });
    return parts.filter((part, index) => part.className !== "cite" || !index || !keepTogether(parts[index - 1], part));
  }

  sourceCard(response, citation, number) {
    const button = make("button", {
      type: "button", class: "card", "aria-expanded": "false",
      onclick: () => this.opening(() => openCitation(button, this.collection, response.run_id, citation.anchor, response.answer)),
    }, make("span", { class: "number" }, String(number)), make("span", {},
      make("span", { class: "name" }, citation.title || citation.knowledge_id),
      make("span", { class: "place" }, joined(place(citation), citation.event_date, citation.equipment_id)),
    ));
    return make("li", {}, button);
  }

  async refusal(response) {
    const reason = make("div", { class: "outcome NO_EVIDENCE" }, make("h3", {}, REFUSED[response.refusal_code] || "The documents do not answer this."), make("p", {}, sentence(response.message)));
    const run = await read(`/v1/runs/${encodeURIComponent(response.run_id)}`).catch(() => null);
    const nearest = run ? run.candidates.filter((row) => row.excerpt).slice(0, NEAREST) : [];
    if (!nearest.length) return [reason];
    const cards = nearest.map((row) => {
      const button = make("button", { type: "button", class: "card", "aria-expanded": "false", onclick: () => this.opening(() => openPage(button, run.collection, row)) },
        make("span", {}, make("span", { class: "name" }, row.title || row.knowledge_id), make("span", { class: "place" }, place(row)), make("span", { class: "excerpt" }, row.excerpt)));
      return make("li", {}, button);
    });
    return [reason, make("p", { class: "nearest" }, "The nearest passages"), make("ol", { class: "list" }, ...cards)];
  }

  failure(response) {
    return [make("div", { class: "outcome FAILED" }, make("h3", {}, "No answer was released."), make("p", {}, sentence(response.message)), make("p", { class: "eyebrow" }, response.failure_code))];
  }

  async opening(open) {
    try { await open(); } catch (problem) { say(problem.message); this.body.append(make("p", { class: "notice" }, `${sentence(problem.message)} ${problem.nextStep || ""}`)); }
  }
}

// Puts a citation and the word before it on one line, and returns whether it did.
function keepTogether(text, button) {
  const split = text.className ? null : /^(.*\s)?(\S+)$/s.exec(text.textContent);
  if (split) text.replaceChildren(split[1] || "", make("span", { class: "unbroken" }, split[2], button));
  return split !== null;
}

function feedback(runId) {
  const line = make("div", { class: "after" });
  const give = async (rating, comment) => {
    try {
      await post("/v1/feedback", { run_id: runId, rating, ...(comment ? { comment } : {}) });
      line.replaceChildren("Thank you. The feedback is stored with the run.");
    } catch (problem) { line.append(make("span", { class: "notice" }, problem.message)); }
  };
  const explain = () => {
    const input = make("input", { type: "text", maxlength: "2000", "aria-label": "What is wrong?", placeholder: "What is wrong? (optional)" });
    const form = make("form", {}, input, make("button", { type: "submit" }, "Send"));
    form.addEventListener("submit", (event) => { event.preventDefault(); give("down", input.value.trim()); });
    line.append(form);
    input.focus();
  };
  line.append(
    "Was this right?",
    make("button", { type: "button", class: "small", onclick: () => give("up") }, "Yes"),
    make("button", { type: "button", class: "small", onclick: (event) => { event.target.disabled = true; explain(); } }, "No"),
  );
  return line;
}
