/*
 * `devplane cel`: evaluates CEL expressions locally. It evaluates one expression with variables
 * from a file, or a stream of questions as JSON lines, each answered by one line in any case.
 * cel/devices.c evaluates expressions on a cluster's devices.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/writer.h"
#include "base/system/file.h"
#include "base/yaml/yaml.h"
#include "cel/cel_limits.h"
#include "cel/core/json.h"
#include "cel/lib/libraries.h"
#include "cli/cel/answer.h"
#include "cli/cel/devices.h"
#include "cli/cel/zones.h"
#include "cli/cli_limits.h"
#include "cli/commands/commands.h"
#include "cli/output/output.h"
#include "cli/program/cli.h"

struct cel_options {
	const char *input, *env, *output, *driver, *node;
	bool batch, cost, devices;
	struct kube_options kube;
};

static const struct flag flags[] = {
	{ "input", 'f', FLAG_STRING(struct cel_options, input), .arg = "FILE",
	  .help = "JSON or YAML object whose members are the variables; '-' is standard input" },
	{ "env", 0, FLAG_STRING(struct cel_options, env), .choices = "all|kubernetes",
	  .initial = "all", .help = "set of functions to use" },
	{ "output", 'o', FLAG_STRING(struct cel_options, output),
	  .choices = "text|json|yaml|wide|name", .initial = "text",
	  .help = "output format of the value, or of the devices" },
	{ "cost", 0, FLAG_BOOL(struct cel_options, cost),
	  .help = "also print the actual and the estimated cost" },
	{ "batch", 0, FLAG_BOOL(struct cel_options, batch),
	  .help = "answer JSON lines {\"expr\":..,\"vars\":{..}} with JSON lines" },
	{ "devices", 0, FLAG_BOOL(struct cel_options, devices),
	  .help = "use EXPR as a device selector, and list the devices that it matches" },
	{ "driver", 0, FLAG_STRING(struct cel_options, driver), .arg = "NAME",
	  .help = "with --devices: only devices of this driver" },
	{ "node", 0, FLAG_STRING(struct cel_options, node), .arg = "NAME",
	  .help = "with --devices: only devices that pods on this node can use" },
	KUBE_FLAGS(struct cel_options, kube),
	{ NULL },
};

static void question_init(struct cel_question *q, const struct cel_options *o)
{
	bool kubernetes = strcmp(o->env, "kubernetes") == 0;

	*q = (struct cel_question){
		.libraries = kubernetes ? cel_libraries_kubernetes : cel_libraries_all,
		.flags = kubernetes ? CEL_HOMOGENEOUS | CEL_LITERALS | CEL_HAS_IS_FREE
				    : CEL_OPTIONAL_STRICT,
	};
}

/* --- one expression ----------------------------------------------------------------- */

static int read_variables(struct cli *cli, const char *path, struct buf *text,
			  const struct json **ret_vars, struct error *err)
{
	struct json *tree = NULL;
	int r;

	r = file_read(path, text, err);
	if (r < 0)
		return r;
	r = yaml_parse(&cli->arena, buf_str(text), NULL, &tree, err);
	if (r < 0)
		return error_wrap(err, r, "%s", path);
	if (!json_is(tree, JSON_OBJECT))
		return error_set(err, ERR_BAD_REQUEST,
				 "%s is not an object: give one whose members are the variables, "
				 "as in {\"x\": 1}",
				 path);
	*ret_vars = tree;
	return 0;
}

/* A string as it is, anything else as JSON. */
static void cel_print_text(struct cli *cli, const struct cel_answer *answer, struct cel_eval *ev)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_SCRATCH_MAX);
	struct json_writer w;

	if (answer->value.kind == CEL_STRING) {
		(void)fwrite(answer->value.s.p, 1, answer->value.s.n, cli->out);
	} else {
		json_writer_init(&w, &out, NULL);
		cel_write_json(ev, &answer->value, &w);
		(void)json_writer_finish(&w);
		(void)fwrite(out.p, 1, out.n, cli->out);
	}
	(void)fputc('\n', cli->out);
}

static int cel_print_tree(struct cli *cli, const struct cel_options *o,
			  const struct cel_answer *answer, struct cel_eval *ev, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_SCRATCH_MAX);
	struct json *tree = NULL;
	struct json_writer w;
	int r;

	json_writer_init(&w, &out, NULL);
	cel_answer_write(answer, ev, &w);
	r = json_writer_finish(&w);
	if (r == 0)
		r = json_parse(&cli->arena, arena_str(&cli->arena, buf_str(&out)), NULL, &tree,
			       err);
	if (r < 0)
		return r;
	if (o->cost) {
		json_put_i64(&cli->arena, tree, "cost", (int64_t)answer->cost);
		json_setz(tree, "estimatedCost", json_make_u64(&cli->arena, answer->estimate.max));
	}
	return output_tree(cli, o->output, tree, err);
}

static int evaluate(struct cli *cli, const char *text, struct cel_eval *ev, struct error *err)
{
	CLEANUP(buf_release) struct buf input = BUF_INIT(CODEC_MAX);
	const struct cel_options *o = cli->options;
	struct cel_answer answer;
	struct cel_question q;
	int r = 0;

	question_init(&q, o);
	q.text = str_from(text);
	if (o->input)
		r = read_variables(cli, o->input, &input, &q.vars, err);
	if (r < 0)
		return r;
	cel_answer_find(&answer, &q, ev, ev->scratch);
	if (!answer.compiled)
		return cel_refuse(cli, &answer.refused, err);
	if (cel_is_error(answer.value))
		return error_set(err, ERR_INVALID, "%.*s", STR_ARG(answer.fault));
	if (strcmp(o->output, "text") != 0)
		return cel_print_tree(cli, o, &answer, ev, err);
	cel_print_text(cli, &answer, ev);
	if (o->cost)
		(void)fprintf(cli->out, "cost %" PRIu64 ", estimated %" PRIu64 " to %" PRIu64 "\n",
			      answer.cost, answer.estimate.min, answer.estimate.max);
	return 0;
}

/* --- batch mode --------------------------------------------------------------------- */

static void write_fault(struct json_writer *w, const char *text)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "error");
	json_writer_strz(w, text);
	json_writer_end_object(w);
}

static void answer_line(struct cel_question *q, struct str line, struct cel_eval *ev,
			struct json_writer *w)
{
	struct cel_answer answer;
	struct error err;
	struct json *in = NULL;

	if (json_parse(ev->scratch, line, NULL, &in, &err) < 0) {
		write_fault(w, err.msg);
		return;
	}
	q->text = json_text_at(in, "expr");
	q->vars = json_getz(in, "vars");
	q->container = json_text_at(in, "container");
	if (!q->text.p) {
		write_fault(w,
			    "the line has no \"expr\": give it one, as in {\"expr\": \"1 + 1\"}");
		return;
	}
	if (q->vars && q->vars->type != JSON_OBJECT) {
		write_fault(w, "\"vars\" must be an object");
		return;
	}
	cel_answer_find(&answer, q, ev, ev->scratch);
	cel_answer_write(&answer, ev, w);
}

/* Answers each line before it reads the next, so that a program can interact with it. */
static int batch(struct cli *cli, FILE *in, struct cel_eval *ev, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * CEL_SCRATCH_MAX);
	const struct cel_options *o = cli->options;
	struct cel_question q;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	question_init(&q, o);
	q.lenient = true;
	while ((n = getline(&line, &cap, in)) > 0) {
		struct json_writer w;

		buf_clear(&out);
		json_writer_init(&w, &out, NULL);
		answer_line(&q, str_of(line, (size_t)n), ev, &w);
		if (json_writer_finish(&w) < 0) {
			buf_clear(&out);
			(void)buf_addz(&out, "{\"error\":\"the answer is too large\"}");
		}
		(void)fwrite(out.p, 1, out.n, cli->out);
		(void)fputc('\n', cli->out);
		(void)fflush(cli->out);
		arena_clear(ev->scratch);
	}
	free(line);
	if (ferror(in))
		return error_set_errno(err, ERR_IO, errno, "cannot read the input");
	return 0;
}

static int run_batch(struct cli *cli, struct cel_eval *ev, struct error *err)
{
	const struct cel_options *o = cli->options;
	bool standard = !o->input || strcmp(o->input, "-") == 0;
	FILE *in;
	int r;

	in = standard ? stdin : fopen(o->input, "re");
	if (!in)
		return error_set_errno(err, ERR_IO, errno, "cannot read %s", o->input);
	r = batch(cli, in, ev, err);
	if (!standard)
		(void)fclose(in);
	return r;
}

/* --- devices ------------------------------------------------------------------------ */

static int show_devices(struct cli *cli, struct cel_eval *ev, struct error *err)
{
	const struct cel_options *o = cli->options;
	struct cel_devices_options devices = {
		.driver = o->driver, .node = o->node, .output = o->output, .kube = &o->kube
	};

	if (o->input || o->cost)
		return cli_bad_usage(cli, err,
				     "--devices asks the cluster: leave out --input and --cost");
	devices.expression = cli->operands.v[0];
	return cel_devices_show(cli, &devices, ev, err);
}

/* --- the command -------------------------------------------------------------------- */

static int check_options(struct cli *cli, struct error *err)
{
	const struct cel_options *o = cli->options;
	bool table = strcmp(o->output, "wide") == 0 || strcmp(o->output, "name") == 0;

	if (o->batch && o->devices)
		return cli_bad_usage(cli, err, "--batch and --devices exclude each other");
	if (!o->devices && (o->driver || o->node || table))
		return cli_bad_usage(cli, err, "%s needs --devices",
				     o->driver ? "--driver"
				     : o->node ? "--node"
					       : "this --output");
	if (o->batch && cli->operands.n)
		return cli_bad_usage(cli, err,
				     "--batch reads expressions from its input: give no EXPR "
				     "beside it");
	if (!o->batch && !cli->operands.n)
		return cli_bad_usage(cli, err,
				     "give an expression, as in 'devplane cel \"1 + 1\"'");
	return 0;
}

static int commands_cel_run(struct cli *cli, struct error *err)
{
	const struct cel_options *o = cli->options;
	struct arena scratch;
	struct zones zones;
	struct cel_eval ev = { .scratch = &scratch, .zone_offset = zones_offset, .zones = &zones };
	int r = check_options(cli, err);

	if (r < 0)
		return r;
	arena_init(&scratch, CEL_SCRATCH_MAX);
	zones_init(&zones);
	if (o->batch)
		r = run_batch(cli, &ev, err);
	else if (o->devices)
		r = show_devices(cli, &ev, err);
	else
		r = evaluate(cli, cli->operands.v[0], &ev, err);
	zones_release(&zones);
	arena_release(&scratch);
	return r;
}

const struct command cmd_cel = {
	.name = "cel",
	.summary = "evaluate a CEL expression, or list the devices that it selects",
	.usage = "[EXPR] [FLAGS]",
	.operands_max = 1,
	.about = "Evaluates one expression of the Common Expression Language, with Kubernetes' "
		 "libraries, and prints its value. Variables are the members of the object in "
		 "--input.\n\n"
		 "With --batch each line of the input is a request {\"expr\":..,\"vars\":{..}}, "
		 "and the reply is one line, {\"type\":..,\"value\":..} or {\"error\":..}. An "
		 "expression with type errors is still evaluated, as CEL does without a type "
		 "checker. If that gives a value, the type errors are listed in \"issues\".\n\n"
		 "With --devices the expression is a device selector, as in DeviceClasses and "
		 "ResourceClaims. The command lists the devices of the cluster that it matches.",
	.examples = "devplane cel 'quantity(\"1Gi\").isGreaterThan(quantity(\"900Mi\"))'\n"
		    "devplane cel 'spec.replicas > 3' --input deployment.yaml\n"
		    "echo '{\"expr\":\"x + 1\",\"vars\":{\"x\":41}}' | devplane cel --batch\n"
		    "devplane cel --devices 'device.driver == \"gpu.example.com\"' -o wide",
	.group = COMMAND_TOOL,
	.flags = flags,
	.options_size = sizeof(struct cel_options),
	.run = commands_cel_run,
};
