/*
 * cel_answer - evaluates one expression, for users and scripts.
 */
#ifndef CLI_CEL_ANSWER_H
#define CLI_CEL_ANSWER_H

#include "base/json/writer.h"
#include "cel/run/program.h"
#include "cli/program/cli.h"

struct cel_question {
	struct str text;
	struct str container; /* of struct cel_env */
	const struct json *vars; /* an object: one variable per member, of type dyn; or NULL */
	const struct cel_library *const *libraries;
	unsigned flags; /* of struct cel_env */
	/*
	 * If the checker rejects the expression, evaluate it anyway, without types: CEL's typing is
	 * gradual.
	 */
	bool lenient;
};

struct cel_answer {
	struct cel_value value; /* CEL_ERROR: see fault */
	struct str fault; /* the error message if there is no value; or empty */
	struct cel_issues refused; /* if it did not compile */
	struct str issues; /* issues of the checker that did not prevent a value; or empty */
	uint64_t cost;
	struct cel_cost estimate; /* if it compiled */
	bool compiled;
};

/* All memory is the arena's, including ev->scratch. */
void cel_answer_find(struct cel_answer *answer, const struct cel_question *q, struct cel_eval *ev,
		     struct arena *a);

/* {"type":..,"value":..} or {"error":..}; plus "issues" beside a value if there are any. */
void cel_answer_write(const struct cel_answer *answer, struct cel_eval *ev, struct json_writer *w);

/* Prints all issues of an expression in full on stderr. Returns -ERR_INVALID. */
int cel_refuse(struct cli *cli, const struct cel_issues *issues, struct error *err);

#endif
