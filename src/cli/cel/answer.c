/*
 * Compiles the expression. If the checker rejects it and the question is lenient, compiles it
 * again without types. Nothing is kept between questions: the arena is cleared.
 */
#include "cli/cel/answer.h"

#include "cel/cel_limits.h"
#include "cel/core/json.h"

/* An issue about the whole expression has no position to show. */
static void print_issues(const struct cel_issues *issues, struct buf *out)
{
	const struct cel_issue *first = issues->first;

	if (first && !first->next && first->offset == SIZE_MAX)
		(void)buf_add_str(out, first->message);
	else
		cel_issues_print(issues, out);
}

static struct str printed(const struct cel_issues *issues, struct arena *a)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_PROGRAM_MAX);

	print_issues(issues, &out);
	return arena_str(a, buf_str(&out));
}

static size_t declare(const struct json *vars, struct arena *a, struct cel_env *env,
		      struct cel_value **ret_values)
{
	size_t n = json_count(vars), i = 0;
	struct cel_variable *variables = ARENA_ARRAY(a, struct cel_variable, n + 1);
	struct cel_value *values = ARENA_ARRAY(a, struct cel_value, n + 1);

	JSON_FOREACH (member, vars) {
		variables[i] = (struct cel_variable){ json_key(member), &cel_dyn };
		values[i++] = cel_of_json(member);
	}
	env->variables = variables;
	env->nvariables = n;
	*ret_values = values;
	return n;
}

static const struct cel_program *answer_compile(struct cel_answer *answer,
						const struct cel_question *q, struct cel_env *env,
						struct arena *a)
{
	const struct cel_program *p;
	struct cel_issues issues;

	cel_issues_init(&answer->refused, a, q->text);
	p = cel_compile(env, q->text, a, &answer->refused);
	if (p) {
		answer->compiled = true;
		answer->estimate = cel_cost_estimate(env, cel_program_tree(p));
		return p;
	}
	answer->fault = printed(&answer->refused, a);
	if (!q->lenient)
		return NULL;
	env->flags |= CEL_DYNAMIC;
	cel_issues_init(&issues, a, q->text);
	p = cel_compile(env, q->text, a, &issues);
	if (p)
		answer->issues = answer->fault;
	return p;
}

void cel_answer_find(struct cel_answer *answer, const struct cel_question *q, struct cel_eval *ev,
		     struct arena *a)
{
	struct cel_env env = { .libraries = q->libraries,
			       .flags = q->flags,
			       .container = q->container };
	const struct cel_program *p;
	struct cel_value *values;

	*answer = (struct cel_answer){ .value = CEL_NOTHING };
	(void)declare(q->vars, a, &env, &values);
	p = answer_compile(answer, q, &env, a);
	if (!p)
		return;
	ev->cost = 0;
	answer->value = cel_run(p, ev, values);
	answer->cost = ev->cost;
	if (!cel_is_error(answer->value))
		answer->fault = STR_NULL;
	else if (!answer->issues.n)
		answer->fault = arena_str(a, str_from(answer->value.error));
}

void cel_answer_write(const struct cel_answer *answer, struct cel_eval *ev, struct json_writer *w)
{
	json_writer_begin_object(w);
	if (cel_is_error(answer->value)) {
		json_writer_keyz(w, "error");
		json_writer_str(w, answer->fault);
	} else {
		json_writer_keyz(w, "type");
		json_writer_str(w, cel_value_type(&answer->value)->name);
		json_writer_keyz(w, "value");
		cel_write_json(ev, &answer->value, w);
		if (answer->issues.n) {
			json_writer_keyz(w, "issues");
			json_writer_str(w, answer->issues);
		}
	}
	json_writer_end_object(w);
}

int cel_refuse(struct cli *cli, const struct cel_issues *issues, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_PROGRAM_MAX);

	print_issues(issues, &out);
	(void)buf_addc(&out, '\n');
	(void)fwrite(out.p, 1, out.n, cli->err);
	return error_set(err, ERR_INVALID, "the expression is wrong");
}
