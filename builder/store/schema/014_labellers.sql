-- Language models that label whole reviews: which kept answer is theirs about which review. The answers stand in judge_answers, so that
-- a build restores the proposals of a source `llm:MODEL@PROMPT` without asking again. No foreign key leads to reviews: a rebuild costs
-- no answer.

-- text: SHA-256 of the review's text when it was asked about; prompt: digest of the prompt.
CREATE TABLE labeller_answers (
  source TEXT NOT NULL, review TEXT NOT NULL, text TEXT NOT NULL, answer TEXT NOT NULL, prompt TEXT NOT NULL,
  PRIMARY KEY (source, review)
) STRICT, WITHOUT ROWID;
