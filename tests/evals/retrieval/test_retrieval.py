"""The harness of the retrieval evaluation: figures as computed by hand, sets read as they are."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from servers.rag.passages import Passage, SearchMode
from tests.evals.retrieval import paraphrases, readers, squad
from tests.evals.retrieval.collections import Item, Paper, Question, Span
from tests.evals.retrieval.engine import cut, indexed, keys, passages, whole
from tests.evals.retrieval.metrics import (
    Worth,
    bootstrap,
    gain,
    ndcg,
    recall,
    reciprocal_rank,
    worth,
)
from tests.evals.retrieval.options import parse_options
from tests.evals.retrieval.report import Baseline, answers_lines, ranking_table, tuning_table
from tests.evals.retrieval.vector_cache import CachedEmbedder
from tests.evals.retrieval.whole import BUDGET_WORDS, Read, holds, read_answers
from tests.servers.rag.search.shelf import WordCountEmbedder


def test_ndcg_is_what_a_hand_computes():
    grades = {"a": 3, "b": 2, "c": 1}
    best = 3 + 2 / math.log2(3) + 1 / 2
    assert ndcg(["a", "b", "c"], grades) == 1.0
    assert ndcg(["c", "x", "a"], grades) == pytest.approx((1 + 3 / 2) / best)
    assert ndcg(["x", "a"], {"a": 1}) == pytest.approx(1 / math.log2(3))
    assert ndcg(["x"] * 10 + ["a"], {"a": 1}) == 0.0
    assert ndcg([], {"a": 1}) == 0.0
    assert ndcg(["a"], {"a": 0}) == 0.0


def test_the_best_ranking_is_that_of_the_first_ten():
    grades = {str(number): 1 for number in range(20)}
    assert ndcg([str(number) for number in range(10)], grades) == pytest.approx(1.0)


def test_recall_and_reciprocal_rank_are_what_a_hand_computes():
    grades = {"a": 1, "b": 4, "c": 0}
    assert recall(["c", "a", "x", "y", "z", "b"], grades) == 0.5
    assert recall(["a"], {}) == 0.0
    assert reciprocal_rank(["c", "x", "b"], grades) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x"], grades) == 0.0


def test_an_interval_holds_the_mean_and_shrinks_with_more_questions():
    few, many = bootstrap([0.0, 1.0] * 10), bootstrap([0.0, 1.0] * 250)
    assert few.mean == many.mean == 0.5
    assert few.low < many.low < 0.5 < many.high < few.high
    assert few.low == pytest.approx(0.5 - 1.96 * 0.5 / math.sqrt(20), abs=0.06)
    assert bootstrap([0.0, 1.0] * 10) == few
    assert math.isnan(bootstrap([]).mean)


def test_scifact_is_read_as_numpy_printed_it(tmp_path: Path):
    (tmp_path / "corpus_train.csv").write_text(
        "doc_id,title,abstract,structured\n"
        '7,Salt,"[\'Salt is ""not"" sweet.\'\n \'""It isn\\\'t.""\' ]",False\n'
    )
    head = "id,claim,evidence_doc_id,evidence_label,evidence_sentences,cited_doc_ids\n"
    (tmp_path / "claims_validation.csv").write_text(
        head + "1,Salt is sweet.,7,SUPPORT,[0],[ 7 12]\n1,Salt is sweet.,7,SUPPORT,[1],[ 7 12]\n"
    )
    (tmp_path / "claims_train.csv").write_text(head + "2,None.,,,[],[]\n3,Salt.,,,[],[7]\n")
    read = readers.load_scifact(tmp_path)
    assert read.items == (Item("7", 'Salt\n\nSalt is "not" sweet. "It isn\'t."'),)
    assert read.of_part("report") == (Question("1", "Salt is sweet.", {"7": 1, "12": 1}),)
    assert [question.key for question in read.of_part("tuning")] == ["3"]


def test_paraphrases_lie_among_other_paragraphs_and_half_of_them_are_held_out(tmp_path: Path):
    (tmp_path / "xquad").mkdir()
    (tmp_path / "xquad/xquad.en.json").write_text(
        '{"data": [{"title": "", "paragraphs": [{"context": "Hay.", "qas": []}]}]}'
    )
    read = paraphrases.load(tmp_path)
    keys_of = {item.key for item in read.items}
    assert read.items[-1].text == "Hay."
    assert len(keys_of) == len(read.items)
    assert all(keys_of.issuperset(question.grades) for question in read.questions)
    assert len(read.of_part("tuning")) == len(read.of_part("report")) == 22


def test_cranfield_is_judged_by_the_place_of_a_question(tmp_path: Path):
    (tmp_path / "cran.all.1400").write_text(
        ".I 1\n.T\nwings\n.A\nlee\n.B\nx.\n.W\nwings\nlift .\n.I 2\n.T\n.A\n.B\n.W\n"
    )
    (tmp_path / "cran.qry").write_text(".I 004\n.W\nhow do\nwings lift\n.I 009\n.W\nheat\n")
    (tmp_path / "QRelsCorrectedforTRECeval").write_text("1 0 1 3\n2 0 2 1\n")
    read = readers.load_cranfield(tmp_path)
    assert read.items == (Item("1", "wings\nlift ."), Item("2", ""))
    assert read.questions == (
        Question("1", "how do\nwings lift", {"1": 3}, "tuning"),
        Question("2", "heat", {"2": 1}, "report"),
    )


def squad_file(folder: Path, context: str, answers: Sequence[tuple[str, int]]) -> Path:
    file = folder / "squad.json"
    asked = [
        {"id": n, "question": f"q{n}", "answers": [{"text": text, "answer_start": start}]}
        for n, (text, start) in enumerate(answers)
    ]
    paragraph = {"context": context, "qas": asked}
    file.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    return file


def test_an_answer_is_where_it_stands_though_its_offset_is_off(tmp_path: Path):
    words = [f"w{number}" for number in range(450)]
    text = " ".join(words)
    across = " w199 w200"
    file = squad_file(tmp_path, text, [(" w5 w6", text.index("w5") - 3), (across, 900)])
    read = squad.load_passages(file, "set")
    assert [len(item.text.split()) for item in read.items] == [200, 200, 50]
    assert [dict(question.grades) for question in read.questions] == [
        {"0:0": 1},
        {"0:0": 1, "0:1": 1},
    ]
    (paper,) = squad.load_papers(file)
    assert paper.answers[0][1] == Span(text.index("w5 "), text.index("w5 ") + 5, "w5 w6")


def test_an_answer_that_its_text_lacks_is_said(tmp_path: Path):
    with pytest.raises(ValueError, match="'elsewhere' does not stand"):
        squad.load_papers(squad_file(tmp_path, "a text", [("elsewhere", 0)]))


def test_each_paragraph_and_each_abstract_is_what_its_questions_are_about(tmp_path: Path):
    file = squad_file(tmp_path, "a text", [("text", 2)])
    (question,) = squad.load_paragraphs(file, "set", "tuning").questions
    assert question == Question("0", "q0", {"0": 1}, "tuning")
    file.write_text(json.dumps({"12": {"QUESTION": "Is it?", "CONTEXTS": ["One.", "Two."]}}))
    read = readers.load_pubmedqa(file)
    assert (read.items[0].text, read.questions[0].grades) == ("One.\n\nTwo.", {"12": 1})


def test_vectors_are_computed_once_and_survive_the_run(tmp_path: Path):
    class Counting(WordCountEmbedder):
        def embed_passages(self, texts: Sequence[str]):
            computed.extend(texts)
            return super().embed_passages(texts)

    computed: list[str] = []
    first = CachedEmbedder(Counting(), tmp_path)
    vectors = first.embed_passages(["one", "two", "one"])
    first.embed_query("one")
    first.close()
    second = CachedEmbedder(Counting(), tmp_path)
    assert (second.embed_passages(["two", "one"]) == vectors[[1, 0]]).all()
    assert computed == ["one", "two"]
    assert second.embed_query("one").shape == (1, 64)
    second.close()


def passage(file: str, text: str) -> Passage:
    return Passage(file, 1, text, 1.0, None, 1, None, ())


def test_an_answer_counts_within_the_budget_and_in_its_own_paper():
    answer = Span(0, 0, "the right\nanswer")
    filler = passage("p", "word " * (BUDGET_WORDS - 3))
    assert holds([filler, passage("p", "the  right answer and more")], "p", answer)
    assert not holds([filler, passage("p", "so the right answer")], "p", answer)
    assert not holds([passage("other", "the right answer")], "p", answer)
    assert not holds([], "p", answer)
    assert holds([passage("other", "the right answer")], None, answer)


def test_a_small_set_goes_through_the_real_index():
    items = [Item("a", "a cat sleeps"), Item("b", "a dog barks"), Item("empty", "")]
    questions = [
        Question("1", "cat", {"a": 1}),
        Question("2", "dog", {"a": 1}),
        Question("3", "unicorn", {"a": 1}),
    ]
    with indexed(whole(items), None) as engine:
        searcher = engine.searcher(0.55)
        found = worth(lambda text, mode: keys(searcher, text, mode), questions, "words")
    assert found == Worth((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 1)


def test_a_paper_is_cut_and_its_answers_are_found():
    text = "# Bats\n\nBats sleep by day.\n\n# Owls\n\nOwls hunt at night.\n"
    paper = Paper("0", "Bats", text, (("What hunts at night?", Span(0, 4, "Owls hunt")),))
    with indexed(cut([paper]), None) as engine:
        searcher = engine.searcher(0.55)
        reads = read_answers(lambda q, mode: passages(searcher, q, mode), [paper], "words")
    assert reads == [Read(2, True, True)]


def test_the_table_says_whether_aims_are_met():
    def of(*figures: float) -> Worth:
        return Worth(figures, figures, figures, 0)

    by_mode: dict[SearchMode, Worth] = {
        "words": of(0.5, 0.7),
        "vectors": of(0.1, 0.2),
        "hybrid": of(0.6, 0.5),
    }
    gained = gain(by_mode)
    assert gained is not None
    assert (gained[0], gained[1].mean) == ("words", pytest.approx(-0.05))
    lines = ranking_table(by_mode, Baseline(0.5, None, 0.6, 0.55), tuned_on=True)
    assert "aim: at least 0: MISSED" in lines[4]
    assert lines[5] == "nDCG@10 0.550; aim: at least 0.55: met"
    assert lines[6] == "these questions were used for tuning"
    assert gain({"words": of(1.0)}) is None


def test_tables_of_answers_and_weights_show_all_parts():
    lines = answers_lines("hybrid", [Read(2, True, True), Read(9, True, False)], 0.87)
    assert "2 of 2, 100.0%" in lines[0]
    assert "met; in the paper that was asked about 1 of 2, 50.0%" in lines[0]
    assert "1 of 1, 100.0%" in lines[1]
    table = tuning_table([0.5, 0.6], [("a", [0.2, 0.4]), ("b", [0.4, 0.4])])
    assert table[-1].split() == ["mean", "0.3000", "0.4000"]


def test_an_unknown_set_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        parse_options(["scifacts"])
    assert "no such set: scifacts; there are scifact, cranfield" in capsys.readouterr().err
