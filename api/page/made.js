// How an answer was made: statements with verdict and support, the ledger of candidates, stages, record and receipt.

import { joined, make, place, sentence } from "./dom.js";
import { read, readFile } from "./http.js";

export function madeDetails(runId) {
  const body = make("div");
  const details = make("details", { class: "made" }, make("summary", {}, "How this answer was made"), body);
  details.addEventListener("toggle", async () => {
    if (!details.open || body.childElementCount) return;
    try {
      body.replaceChildren(...parts(await read(`/v1/runs/${encodeURIComponent(runId)}`)));
    } catch (problem) {
      body.replaceChildren(make("p", { class: "notice" }, `${problem.message} ${problem.nextStep}`));
    }
  });
  return details;
}

const CITATION = /\s*\[C\d+\]/g;
const outOf = (thousandths) => (thousandths === null ? "–" : (thousandths / 1000).toFixed(2));

function parts(run) {
  const cited = run.response ? run.response.citations : [];
  const numbers = new Map(cited.map((citation, index) => [citation.anchor, String(index + 1)]));
  return [
    facts(run),
    ...run.attempts.flatMap((attempt) => [
      make("h3", {}, run.attempts.length > 1 ? `Statements of answer ${attempt.number}` : "Statements"),
      statements(attempt, numbers),
    ]),
    run.attempts.length ? limits(run) : null,
    make("h3", {}, `What the search found (${run.candidates.length})`),
    candidates(run.candidates, numbers),
    make("h3", {}, "Stages"),
    table(["stage", "status", "ms"], run.stages.map((stage) => [stage.stage, stage.status, stage.milliseconds.toFixed(1)])),
    receipt(run.run_id),
  ].filter(Boolean);
}

function facts(run) {
  const record = run.records.at(-1);
  const gate = run.gate && run.gate.top_similarity !== null
    ? `best similarity ${run.gate.top_similarity.toFixed(2)}, minimum ${run.gate.min_top_similarity.toFixed(2)}` : "–";
  const rows = [
    ["Run", make("code", {}, run.run_id)],
    ["Policy", run.policy_version || "–"],
    ["Generator", run.model],
    ["Index", run.index_version ? make("code", {}, run.index_version) : "–"],
    ["Gate", gate],
    ["Audit record", record ? `position ${record.position}${record.finding ? `: ${record.finding}` : ", its hash matches"}` : "–"],
  ];
  return make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function statements(attempt, numbers) {
  const rows = attempt.statements.map((each) => {
    const broken = each.violations.map((violation) => make("div", {}, `${sentence(violation.message)} ${violation.clause} ${violation.code}`));
    return [
      String(each.number),
      each.text === null ? "not released" : each.text.replace(CITATION, "").trim(),
      each.anchors.map((anchor) => numbers.get(anchor) || anchor).join(", "),
      make("td", { class: broken.length ? "broken" : null }, ...(broken.length ? broken : [each.verdict])),
      make("td", { class: "number" }, outOf(each.support)),
    ];
  });
  return table(["#", "statement", "sources", "verdict", "support"], rows);
}

function limits(run) {
  if (run.min_support === null) return make("p", { class: "hint" }, "The policy has no minimum of support.");
  const words = `Support is out of 1. Below ${outOf(run.min_support)} an answer is rejected, below ${outOf(run.warn_support)} it is marked.`;
  return make("p", { class: "hint" }, words);
}

function candidates(rows, numbers) {
  return table(
    ["source", "passage", "similarity", "result"],
    rows.map((row) => [
      numbers.get(row.anchor) || (numbers.size ? "" : row.anchor || ""),
      joined(row.title || row.knowledge_id, place(row)),
      make("td", { class: "number" }, row.similarity_score.toFixed(3)),
      row.outcome_label,
    ]),
    (index) => (rows[index].anchor ? null : "out"),
  );
}

function table(names, rows, classOf = () => null) {
  const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)));
  const cell = (value) => (value instanceof HTMLTableCellElement ? value : make("td", {}, value));
  const lines = rows.map((row, index) => make("tr", { class: classOf(index) }, ...row.map(cell)));
  return make("div", { class: "wide" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines)));
}

function receipt(runId) {
  const note = make("span", { class: "hint" });
  const button = make("button", { type: "button", class: "small", onclick: async () => {
    try {
      const file = await readFile(`/v1/runs/${encodeURIComponent(runId)}/receipt`);
      const link = make("a", { href: URL.createObjectURL(file), download: `receipt-${runId}.json` });
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (problem) {
      note.textContent = ` ${problem.message} ${problem.nextStep}`;
    }
  } }, "Download the receipt");
  return make("p", {}, button, note);
}
