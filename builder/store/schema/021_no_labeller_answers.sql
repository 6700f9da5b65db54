-- What a language model answered about whole reviews goes as its labels did. The judge of a pool asks Q1 and Q2.
DELETE FROM judge_answers WHERE instr(payload, 'Q1：') = 0;
