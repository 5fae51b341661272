/*
 * `devplane codec`: converts one API object from one format to another. As a request's body in the
 * server, the object becomes the tree that fits its schema, and is then printed or encoded.
 * Nothing is defaulted or validated: the output has exactly what the client sent.
 */
#include "api/codec/decode.h"
#include "api/codec/protobuf.h"
#include "api/write/write.h"
#include "base/core/limits.h"
#include "base/system/file.h"
#include "base/yaml/yaml.h"
#include "cli/cli_limits.h"
#include "cli/commands/commands.h"
#include "cli/program/cli.h"

#define FORMATS "json|yaml|protobuf"

struct codec_options {
	const char *from, *to;
	bool ignore_unknown;
};

static const struct flag flags[] = {
	{ "from", 0, FLAG_STRING(struct codec_options, from), .choices = FORMATS, .required = true,
	  .help = "format of standard input" },
	{ "to", 0, FLAG_STRING(struct codec_options, to), .choices = FORMATS, .required = true,
	  .help = "format of standard output" },
	{ "ignore-unknown", 0, FLAG_BOOL(struct codec_options, ignore_unknown),
	  .help = "drop unknown fields instead of failing" },
	{ NULL },
};

/* One object being converted. */
struct codec {
	struct arena *arena;
	bool ignore_unknown;
	struct str input;
	const struct schema_kind *kind;
	struct json *tree;
};

/* --- its kind --------------------------------------------------------------------- */

static int find_kind(struct codec *c, struct str api_version, struct str kind, struct error *err)
{
	if (!api_version.n || !kind.n)
		return error_set(err, ERR_BAD_REQUEST,
				 "the object has no type: add apiVersion and kind, such as v1 and "
				 "Pod");
	c->kind = schema_find_kind(api_version, kind);
	if (!c->kind || !protobuf_has_kind(c->kind))
		return error_set(err, ERR_BAD_REQUEST,
				 "no built-in kind %.*s in %.*s: check the spelling of apiVersion "
				 "and kind; custom resources are not supported",
				 STR_ARG(kind), STR_ARG(api_version));
	return 0;
}

static int hint_ignore(struct error *err, int r)
{
	size_t n = err ? strlen(err->msg) : 0;

	if (err)
		(void)snprintf(err->msg + n, sizeof(err->msg) - n,
			       "; correct the object, or drop them with --ignore-unknown");
	return r;
}

/* --- reading ---------------------------------------------------------------------- */

/* Claims' networkData is also accepted under the names of KEP-4817, including in lists. */
static void fold_aliases(struct codec *c)
{
	struct write w = { .arena = c->arena, .kind = c->kind };
	struct str name = c->kind->kind, list = STR("List");

	write_fold_aliases(&w, c->tree);
	if (!str_ends(name, list))
		return;
	w.kind = schema_find_kind(c->kind->api_version, str_of(name.p, name.n - list.n));
	if (!w.kind)
		return;
	JSON_FOREACH (item, json_getz(c->tree, "items"))
		write_fold_aliases(&w, item);
}

/* Reports the faults again, in upstream's order. */
static int retell(struct codec *c, enum decode_format format, struct decode_report *report,
		  struct error *err)
{
	struct json *fitted = c->tree;
	int r;

	r = decode_reparse(c->arena, c->input, format, report, &c->tree, err);
	if (r == 0) {
		fold_aliases(c);
		r = decode_refit(c->arena, c->tree, c->kind->type, report, err);
	}
	c->tree = fitted;
	return r;
}

static int codec_read_text(struct codec *c, enum decode_format format, struct error *err)
{
	struct decode_report report = { 0 };
	int r;

	r = decode_parse(c->arena, c->input, format, &report, &c->tree, err);
	if (r < 0)
		return r;
	if (c->tree->type != JSON_OBJECT)
		return error_set(err, ERR_BAD_REQUEST,
				 "the input is not an object, but one is expected");
	r = find_kind(c, json_text_at(c->tree, "apiVersion"), json_text_at(c->tree, "kind"), err);
	if (r < 0)
		return r;
	fold_aliases(c);
	r = decode_fit(c->arena, c->tree, c->kind->type, &report, err);
	if (r == 0 && !c->ignore_unknown && decode_is_unordered(&report, format))
		r = retell(c, format, &report, err);
	if (r < 0)
		return r;
	if ((report.faults || report.lines) && !c->ignore_unknown)
		return hint_ignore(err, decode_strict_error(&report, err));
	return 0;
}

/* A list without items is an empty list; in protobuf both are the same. */
static void add_items(struct codec *c)
{
	const struct schema_field *items = schema_field(c->kind->type, STR("items"));

	if (str_ends(c->kind->kind, STR("List")) && items && items->shape == SCHEMA_LIST &&
	    !json_getz(c->tree, "items"))
		json_setz(c->tree, "items", json_make_array(c->arena));
}

static int read_protobuf(struct codec *c, struct error *err)
{
	struct protobuf_envelope e;
	size_t unknown = 0;
	int r;

	r = protobuf_open(c->input, &e, err);
	if (r < 0)
		return error_wrap(err, r, "the input is not protobuf with Kubernetes' envelope");
	r = find_kind(c, e.api_version, e.kind, err);
	if (r == 0)
		r = protobuf_decode_body(c->arena, c->kind, c->input, &unknown, &c->tree, err);
	if (r == 0)
		r = decode_fit(c->arena, c->tree, c->kind->type, NULL, err);
	if (r < 0)
		return r;
	if (unknown && !c->ignore_unknown)
		return hint_ignore(err, error_set(err, ERR_BAD_REQUEST,
						  "strict decoding error: %zu %s that %.*s "
						  "does not have",
						  unknown, unknown == 1 ? "field" : "fields",
						  STR_ARG(c->kind->kind)));
	add_items(c);
	return 0;
}

static int read_object(struct codec *c, const char *from, struct error *err)
{
	if (strcmp(from, "protobuf") == 0)
		return read_protobuf(c, err);
	return codec_read_text(c, strcmp(from, "yaml") == 0 ? DECODE_YAML : DECODE_JSON, err);
}

/* --- writing ---------------------------------------------------------------------- */

static int write_object(const struct codec *c, const char *to, struct buf *out, struct error *err)
{
	static const struct json_style indented = { .indent = 2 };

	if (strcmp(to, "protobuf") == 0)
		return protobuf_encode_object(c->kind, c->tree, out, err);
	if (strcmp(to, "yaml") == 0)
		return yaml_print(out, c->tree, NULL, err);
	(void)json_print(out, c->tree, &indented);
	if (buf_addc(out, '\n') < 0)
		return error_set(err, ERR_TOO_LARGE, "the output exceeds %zu MiB", out->max / MIB);
	return 0;
}

static int codec_run(struct cli *cli, struct error *err)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT(CODEC_MAX), out = BUF_INIT(2 * CODEC_MAX);
	const struct codec_options *o = cli->options;
	struct codec c = { .arena = &cli->arena, .ignore_unknown = o->ignore_unknown };
	int r;

	r = file_read("-", &in, err);
	if (r < 0)
		return r;
	c.input = buf_str(&in);
	if (!c.input.n)
		return error_set(err, ERR_BAD_REQUEST,
				 "standard input is empty: pipe one object into it, as in "
				 "'devplane codec --from yaml --to protobuf <pod.yaml'");
	r = read_object(&c, o->from, err);
	if (r == 0)
		r = write_object(&c, o->to, &out, err);
	if (r == 0)
		(void)fwrite(out.p, 1, out.n, cli->out);
	return r;
}

const struct command cmd_codec = {
	.name = "codec",
	.summary = "convert an object between JSON, YAML and protobuf",
	.usage = "--from FORMAT --to FORMAT [FLAGS] <INPUT >OUTPUT",
	.about = "Reads one API object from standard input and writes it to standard output in "
		 "another format. Its apiVersion and kind must name a built-in kind, a list of one "
		 "(PodList), Status or DeleteOptions.\n\n"
		 "Protobuf means the Kubernetes API's, with its magic number and envelope: the "
		 "body of a request or a response. JSON and YAML are printed as the API prints "
		 "typed objects. No defaults are set, and nothing is validated.",
	.examples = "devplane codec --from yaml --to protobuf <pod.yaml >pod.bin\n"
		    "devplane codec --from protobuf --to json <pod.bin",
	.group = COMMAND_TOOL,
	.flags = flags,
	.options_size = sizeof(struct codec_options),
	.run = codec_run,
};
