"""The measurements of the server: outcomes, stages and requests, without ids and without texts."""

from prometheus_client.parser import text_string_to_metric_families

from support.processes.http_server import OFF_TOPIC, QUESTION, Served

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(served: Served) -> Samples:
    text = served.client.get("/metrics").text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def grown(before: Samples, after: Samples, name: str, **labels: str) -> float:
    key = (name, tuple(sorted(labels.items())))
    return after[key] - before.get(key, 0.0)


def test_outcomes_stages_and_requests_are_counted(served: Served) -> None:
    before = samples(served)
    run_id = served.ask(QUESTION)["run_id"]
    served.ask(OFF_TOPIC)
    served.client.post("/v1/ask", json={"question": QUESTION, "policy": "NO_SUCH_POLICY"})
    served.client.get(f"/v1/runs/{run_id}")
    served.client.get("/nothing")
    after = samples(served)
    refused = {"status": "NO_EVIDENCE", "reason": "below_similarity_gate"}
    assert grown(before, after, "sourcebound_questions_total", status="OK", reason="") == 1
    assert grown(before, after, "sourcebound_questions_total", **refused) == 1
    assert grown(before, after, "sourcebound_question_faults_total") == 1
    assert grown(before, after, "sourcebound_question_seconds_count") == 2
    assert grown(before, after, "sourcebound_stage_seconds_count", stage="generate") >= 1
    assert grown(before, after, "sourcebound_http_requests_total", route="/v1/runs/{run_id}", status="200") == 1
    assert grown(before, after, "sourcebound_http_requests_total", route="other", status="404") == 1
    assert after["sourcebound_questions_in_progress", ()] == 0
    assert run_id not in str(after)
