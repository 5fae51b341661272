/*
 * `devplane explain-fit`: where a claim, or the claims of a pod, could get their devices, and why
 * not elsewhere. The first line is the answer; the rest helps users who want to change it.
 */
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "cli/cli_limits.h"
#include "cli/commands/commands.h"
#include "cli/devices/claim_sight.h"
#include "cli/devices/gate.h"
#include "cli/fit/extended.h"
#include "cli/fit/load.h"
#include "cli/fit/pod.h"
#include "cli/output/output.h"
#include "cli/roles/syscalls.h"
#include "client/api/discovery.h"
#include "dra/allocate/explain.h"
#include "dra/claims/pod_claims.h"

enum { NAMES_MAX = 3 };

struct fit_options {
	struct kube_options kube;
	const char *node, *output;
	struct flag_list feature_gates;
	int64_t max_objects;
};

static const struct flag flags[] = {
	{ "node", 0, FLAG_STRING(struct fit_options, node), .arg = "NAME",
	  .help = "check only this node, in full detail" },
	{ "output", 'o', FLAG_STRING(struct fit_options, output), .choices = "json|yaml|wide",
	  .help = "output format; wide lists all nodes and devices; text by default" },
	{ "max-objects", 0, FLAG_INT(struct fit_options, max_objects), .arg = "COUNT",
	  .initial = "0", .min = 0, .max = INT32_MAX,
	  .help = "give up if the cluster has more ResourceSlices, claims or nodes than that; 0 "
		  "means no limit" },
	DEVICE_GATE_FLAG(struct fit_options, feature_gates),
	KUBE_FLAGS(struct fit_options, kube),
	{ NULL },
};

struct fit {
	struct cli *cli;
	const struct fit_options *options;
	struct kube kube;
	struct fit_cluster cluster;
	const struct json *pod; /* NULL: the subject is a claim */
	struct str what; /* "claim default/gpu", "pod default/train-0" */
	VEC(const struct json *) waiting, allocated; /* claims */
	struct str stuck; /* why no node has to be checked; or empty */
	bool extended; /* some resources of the pod may be devices without a claim so far */
	struct fit_report report;
	struct json *results; /* what the claims would get on the single node; or NULL */
	struct str answer;
	struct buf details; /* lines to print next */
};

static struct str explain_fit_name_of(const struct json *object)
{
	return json_text_at(json_getz(object, "metadata"), "name");
}

static struct str explain_fit_say(struct fit *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

static struct str explain_fit_say(struct fit *f, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&text, fmt, ap);
	va_end(ap);
	return arena_str(&f->cli->arena, buf_str(&text));
}

/* --- claims ---------------------------------------------------------------------------------- */

static void add_claim(struct fit *f, const struct json *claim)
{
	if (json_getz(json_getz(claim, "status"), "allocation"))
		(void)vec_push(&f->allocated, claim);
	else
		(void)vec_push(&f->waiting, claim);
}

static int explain_fit_read_claim(struct fit *f, struct str name, struct error *err)
{
	struct json *claim;
	struct error why;
	int r = fit_read(&f->kube, "resourceclaims", f->kube.config.ns, name, &claim, &why);

	if (r == -ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND,
				 "%.200s in namespace \"%.*s\"; use -n NAME for another namespace, "
				 "pod/NAME for a pod",
				 why.msg, STR_ARG(f->kube.config.ns));
	if (r < 0)
		return error_copy(err, &why);
	add_claim(f, claim);
	return 0;
}

/* The claim that will be created from a template. */
static int read_template(struct fit *f, const struct pod_claims_ref *ref, struct error *err)
{
	struct json *template;
	int r = fit_read(&f->kube, "resourceclaimtemplates", f->kube.config.ns, ref->template,
			 &template, err);

	if (r == -ERR_NOT_FOUND) {
		f->stuck = explain_fit_say(f, "claim template %.*s/%.*s does not exist",
					   STR_ARG(f->kube.config.ns), STR_ARG(ref->template));
		return 0;
	}
	if (r == 0)
		add_claim(f, pod_claims_make(&f->cli->arena, f->pod, ref->pod_claim, template, 0));
	return r;
}

static int read_ref(struct fit *f, const struct json *entry, struct error *err)
{
	struct pod_claims_ref ref = pod_claims_ref_of(f->pod, entry);
	int r;

	if (ref.state == POD_CLAIMS_REF_UNNEEDED)
		return 0;
	if (ref.state == POD_CLAIMS_REF_UNKNOWN) {
		f->stuck = explain_fit_say(f, "its claim \"%.*s\" has an unknown source",
					   STR_ARG(ref.pod_claim));
		return 0;
	}
	if (ref.state == POD_CLAIMS_REF_MISSING)
		return read_template(f, &ref, err);
	r = explain_fit_read_claim(f, ref.claim, err);
	if (r != -ERR_NOT_FOUND)
		return r;
	f->stuck = explain_fit_say(f, "claim %.*s/%.*s does not exist", STR_ARG(f->kube.config.ns),
				   STR_ARG(ref.claim));
	return 0;
}

/* The claim that a scheduler created for extended resources, if any. */
static int read_extended(struct fit *f, struct error *err)
{
	const struct json *made = json_getz(json_getz(f->pod, "status"),
					    "extendedResourceClaimStatus");
	struct str name = json_text_at(made, "resourceClaimName");
	int r = name.n ? explain_fit_read_claim(f, name, err) : -ERR_NOT_FOUND;

	if (r != -ERR_NOT_FOUND)
		return r;
	f->extended = fit_extended_asked(f->pod);
	return 0;
}

static int read_pod(struct fit *f, struct str name, struct error *err)
{
	struct resource pods = resource_builtin("", "v1", "pods");
	struct kube_query q = { .resource = &pods, .ns = f->kube.config.ns, .name = name };
	struct json *pod;
	struct error why;
	int r = kube_read(&f->kube, &q, &pod, &why);

	if (r == -ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND,
				 "%.200s in namespace \"%.*s\"; use -n NAME for another namespace",
				 why.msg, STR_ARG(f->kube.config.ns));
	if (r < 0)
		return error_copy(err, &why);
	f->pod = pod;
	JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), "resourceClaims")) {
		r = read_ref(f, it, err);
		if (r < 0)
			return r;
	}
	return read_extended(f, err);
}

/* NAME, TYPE/NAME or TYPE NAME. */
static int read_subject(struct fit *f, struct error *err)
{
	const struct flag_list *ops = &f->cli->operands;
	struct str name = str_from(ops->v[0]), type = STR("resourceclaims.resource.k8s.io");
	const struct discovery_resource *d;
	int r;

	if (ops->n == 2) {
		type = name;
		name = str_from(ops->v[1]);
	} else if (str_chr(name, '/') >= 0) {
		(void)str_split(&name, '/', &type);
	}
	if (str_eqz(type, "claim") || str_eqz(type, "claims"))
		type = STR("resourceclaims.resource.k8s.io");
	if (!name.n || !type.n || str_chr(name, '/') >= 0)
		return cli_bad_usage(f->cli, err,
				     "\"%s\" is not valid: write CLAIM, claim/NAME or pod/NAME",
				     ops->v[0]);
	r = kube_resource(&f->kube, type, &d, err);
	if (r < 0)
		return r;
	f->what = explain_fit_say(f, "%s %.*s/%.*s",
				  str_eqz(d->resource.resource, "pods") ? "pod" : "claim",
				  STR_ARG(f->kube.config.ns), STR_ARG(name));
	if (str_eqz(d->resource.resource, "pods") && !d->resource.group.n)
		return read_pod(f, name, err);
	if (str_eqz(d->resource.resource, "resourceclaims"))
		return explain_fit_read_claim(f, name, err);
	return cli_bad_usage(f->cli, err, "only claims and pods can be explained, not %.*s",
			     STR_ARG(d->resource.resource));
}

/* --- answers --------------------------------------------------------------------------------- */

/* "gpu-0 of pool n1 (driver gpu.example.com)" for each device. */
static void print_devices(const struct json *allocation, struct buf *out)
{
	const struct json *results = json_getz(json_getz(allocation, "devices"), "results");
	size_t n = 0;

	JSON_FOREACH (it, results)
		(void)buf_printf(out, "%s%.*s of pool %.*s (driver %.*s)", n++ ? ", " : "",
				 STR_ARG(json_text_at(it, "device")),
				 STR_ARG(json_text_at(it, "pool")),
				 STR_ARG(json_text_at(it, "driver")));
	if (!n)
		(void)buf_addz(out, "no devices");
}

static void print_users(const struct json *claim, struct buf *out)
{
	size_t n = 0;

	JSON_FOREACH (it, json_getz(json_getz(claim, "status"), "reservedFor")) {
		struct str resource = json_text_at(it, "resource");

		(void)buf_printf(out, "%s%.*s %.*s", n++ ? ", " : ", for ",
				 STR_ARG(str_eqz(resource, "pods") ? STR("pod") : resource),
				 STR_ARG(json_text_at(it, "name")));
	}
	if (!n)
		(void)buf_addz(out, ", and nobody uses it now");
}

static void print_allocated(const struct json *claim, struct buf *out)
{
	print_devices(json_getz(json_getz(claim, "status"), "allocation"), out);
	print_users(claim, out);
}

static void answer_with_nodes(struct fit *f, struct buf *out)
{
	const struct fit_report *r = &f->report;
	const char *fit = r->fitting && f->cluster.uncertain ? "may fit" : "fit";
	bool wide = f->options->output && strcmp(f->options->output, "wide") == 0;

	if (f->options->node) {
		(void)buf_printf(out, "%s on node %s", r->fitting ? fit : "do not fit",
				 f->options->node);
		return;
	}
	(void)buf_printf(out, "%s on %zu of %zu node%s", fit, r->fitting, r->nodes,
			 r->nodes == 1 ? "" : "s");
	if (r->fitting)
		(void)buf_addz(out, ": ");
	fit_report_names(out, r->names, r->fitting, wide ? 0 : NAMES_MAX);
}

static void answer_claim(struct fit *f, struct buf *out)
{
	CLEANUP(buf_release) struct buf nodes = BUF_INIT(CODEC_MAX);
	struct str text;

	(void)buf_printf(out, "%.*s ", STR_ARG(f->what));
	if (f->allocated.n) {
		(void)buf_addz(out, "is allocated: ");
		print_allocated(f->allocated.v[0], out);
		return;
	}
	/* One claim fits, claims fit. */
	answer_with_nodes(f, &nodes);
	text = buf_str(&nodes);
	if (str_starts(text, STR("do not")))
		(void)buf_printf(out, "does%.*s", STR_ARG(str_skip(text, 2)));
	else if (str_starts(text, STR("may")))
		(void)buf_add_str(out, text);
	else
		(void)buf_printf(out, "fits%.*s", STR_ARG(str_skip(text, 3)));
}

static void answer_pod(struct fit *f, struct buf *out)
{
	struct str node = json_text_at(json_getz(f->pod, "spec"), "nodeName");

	(void)buf_printf(out, "%.*s ", STR_ARG(f->what));
	if (node.n)
		(void)buf_printf(out, "is on node %.*s", STR_ARG(node));
	else
		(void)buf_addz(out, "waits");
	if (f->stuck.n)
		(void)buf_printf(out, ": %.*s", STR_ARG(f->stuck));
	else if (!f->waiting.n && !f->allocated.n)
		(void)buf_addz(out, ": it has no claims, so devices do not keep it from any node");
	else if (!f->waiting.n)
		(void)buf_printf(out, ": its claim%s allocated",
				 f->allocated.n == 1 ? " is" : "s are");
	if (f->stuck.n || !f->waiting.n)
		return;
	(void)buf_addz(out, ": its claims ");
	answer_with_nodes(f, out);
}

/* Prints what each claim would get, or has. */
static void tell_claims(struct fit *f)
{
	for (size_t i = 0; f->pod && i < f->allocated.n; i++) {
		(void)buf_printf(&f->details, "  claim %.*s is allocated: ",
				 STR_ARG(explain_fit_name_of(f->allocated.v[i])));
		print_allocated(f->allocated.v[i], &f->details);
		(void)buf_addc(&f->details, '\n');
	}
}

static void tell_result(struct fit *f, const struct fit_node *n)
{
	struct allocate_node node = { .name = n->name, .labels = n->labels };
	struct json **results = ARENA_ARRAY(&f->cli->arena, struct json *, f->waiting.n);
	struct error err;

	if (allocate(f->cluster.inventory, &node, f->waiting.v, f->waiting.n, NULL, &f->cli->arena,
		     results, &err) != 1)
		return;
	f->results = json_make_array(&f->cli->arena);
	for (size_t i = 0; i < f->waiting.n; i++) {
		struct json *one = json_make_object(&f->cli->arena);

		(void)buf_printf(&f->details, "  claim %.*s would get: ",
				 STR_ARG(explain_fit_name_of(f->waiting.v[i])));
		print_devices(results[i], &f->details);
		(void)buf_addc(&f->details, '\n');
		json_put_str(&f->cli->arena, one, "claim", explain_fit_name_of(f->waiting.v[i]));
		json_setz(one, "allocation", results[i]);
		json_append(f->results, one);
	}
}

static const struct json *scheduled_condition(const struct fit *f)
{
	JSON_FOREACH (it, json_getz(json_getz(f->pod, "status"), "conditions"))
		if (str_eqz(json_text_at(it, "type"), "PodScheduled") &&
		    str_eqz(json_text_at(it, "status"), "False"))
			return it;
	return NULL;
}

static struct str not_considered(const struct fit *f)
{
	return f->pod ? STR("Not considered: CPU, memory and other resources, ports, volumes, "
			    "affinity between pods.")
		      : STR("Not considered: what else a pod that uses the claim asks of its "
			    "node.");
}

/* Existing nodes first, then those that devices name but that do not exist. */
static void find_nodes(struct fit *f, struct fit_query *q)
{
	const struct fit_cluster *c = &f->cluster;
	struct fit_node *nodes = ARENA_ARRAY(&f->cli->arena, struct fit_node,
					     c->nodes->n + c->ngone);

	fit_pod_nodes(f->pod, f->allocated.v, f->allocated.n, c->nodes, nodes, &f->cli->arena);
	for (size_t i = 0; i < c->ngone; i++)
		nodes[c->nodes->n + i] = (struct fit_node){ .name = c->gone[i],
							    .away = STR("the node does not exist"),
							    .gone = true };
	q->nodes = nodes;
	q->nnodes = c->nodes->n + c->ngone;
}

static int explain_fit_explain(struct fit *f, struct error *err)
{
	struct str node = str_from(f->options->node);
	struct explain_sight sight = { claim_sight_may_name, claim_sight_new(&f->kube) };
	struct fit_query q = { .sight = &sight };
	const struct json *special;
	int r = fit_load(&f->kube, f->kube.config.ns, node, &f->cluster, err);

	if (r < 0)
		return r;
	special = f->extended ? fit_extended_claim(f->cluster.inventory, f->pod, f->cluster.notes,
						   &f->cli->arena)
			      : NULL;
	if (special)
		add_claim(f, special);
	if (f->waiting.n == 0)
		return 0;
	q.claims = f->waiting.v;
	q.nclaims = f->waiting.n;
	find_nodes(f, &q);
	q.inventory = f->cluster.inventory;
	q.detailed = f->options->output && strcmp(f->options->output, "wide") == 0;
	fit_report_make(&q, &f->cli->arena, &f->report);
	if (node.n && f->report.fitting)
		tell_result(f, &q.nodes[0]);
	return 0;
}

/* --- printing -------------------------------------------------------------------------------- */

static void explain_fit_print_text(struct fit *f)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CODEC_MAX);
	CLEANUP(buf_release) struct buf clean = BUF_INIT(CODEC_MAX);
	const struct json *scheduled = scheduled_condition(f);
	bool wide = f->options->output != NULL;

	(void)buf_printf(&out, "%.*s\n", STR_ARG(f->answer));
	(void)buf_add_str(&out, buf_str(&f->details));
	fit_report_print(&f->report, wide ? 0 : NAMES_MAX, &out);
	if (scheduled)
		(void)buf_printf(&out, "\nThe scheduler says: %.*s\n",
				 STR_ARG(json_text_at(scheduled, "message")));
	JSON_FOREACH (it, f->cluster.notes)
		(void)buf_printf(&out, "\nNote: %.*s.\n", STR_ARG(json_str(it)));
	if (f->report.n)
		(void)buf_printf(&out, "\n%.*s\n", STR_ARG(not_considered(f)));
	/* Names and selectors are foreign text. */
	output_clean_text(&clean, buf_str(&out), "\n");
	(void)fwrite(clean.p, 1, clean.n, f->cli->out);
}

static int explain_fit_print_tree(struct fit *f, struct error *err)
{
	struct arena *a = &f->cli->arena;
	struct json *o = json_make_object(a), *names = json_make_array(a);
	struct str rest = f->what, kind;

	(void)str_split(&rest, ' ', &kind);
	json_setz(o, arena_strdup(a, kind), json_make_str(a, rest));
	json_put_str(a, o, "answer", f->answer);
	if (f->report.n) {
		for (size_t i = 0; i < f->report.fitting; i++)
			json_append(names, json_make_str(a, f->report.names[i]));
		json_put_i64(a, o, "nodes", (int64_t)f->report.nodes);
		json_setz(o, "fits", names);
		if (f->cluster.uncertain)
			json_put_bool(a, o, "uncertain", true);
		json_setz(o, "groups", fit_report_tree(&f->report, a));
		if (f->results)
			json_setz(o, "wouldGet", f->results);
	}
	if (scheduled_condition(f))
		json_put_str(a, o, "scheduler", json_text_at(scheduled_condition(f), "message"));
	if (json_count(f->cluster.notes))
		json_setz(o, "notes", f->cluster.notes);
	json_put_str(a, o, "notConsidered", not_considered(f));
	return output_tree(f->cli, f->options->output, o, err);
}

static int explain_fit_answer(struct fit *f, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CODEC_MAX);
	bool hidden; /* availability is not shown here, but the flag is accepted */
	int r = device_gate_read(f->cli, &f->options->feature_gates, &hidden, err);

	if (r == 0)
		r = kube_open(&f->kube, f->cli, &f->options->kube, err);
	f->kube.objects_max = (size_t)f->options->max_objects;
	if (r == 0)
		r = read_subject(f, err);
	if (r == 0 && (f->waiting.n || f->extended) && !f->stuck.n)
		r = explain_fit_explain(f, err);
	if (r < 0)
		return r;
	if (f->pod)
		answer_pod(f, &text);
	else
		answer_claim(f, &text);
	f->answer = arena_str(&f->cli->arena, buf_str(&text));
	tell_claims(f);
	if (f->options->output && strcmp(f->options->output, "wide") != 0)
		return explain_fit_print_tree(f, err);
	explain_fit_print_text(f);
	return 0;
}

static int explain_fit_run(struct cli *cli, struct error *err)
{
	struct fit f = { .cli = cli, .options = cli->options, .details = BUF_INIT(CODEC_MAX) };
	int r;

	vec_init(&f.waiting, SIZE_MAX);
	vec_init(&f.allocated, SIZE_MAX);
	/* `devplane up` runs it in a sandbox. */
	r = syscalls_limit_by_variable(err);
	if (r == 0 || r == -ERR_UNIMPLEMENTED)
		r = explain_fit_answer(&f, err);
	vec_release(&f.waiting);
	vec_release(&f.allocated);
	buf_release(&f.details);
	fit_unload(&f.cluster);
	kube_close(&f.kube);
	return r;
}

const struct command cmd_explain_fit = {
	.name = "explain-fit",
	.summary = "explain why a claim or pod does or does not get its devices",
	.usage = "CLAIM | claim/NAME | pod/NAME [FLAGS]",
	.about = "Computes on which nodes a claim, or the claims of a pod, could be allocated now, "
		 "and why the devices of other nodes do not qualify: in use, tainted, too small, "
		 "of the wrong kind, and so on. Nodes with the same reasons are grouped. It reads "
		 "only from the API server, changes nothing, and works with any scheduler.",
	.examples = "  devplane explain-fit gpu\n"
		    "  devplane explain-fit pod/train-0 -n team-a\n"
		    "  devplane explain-fit pod/train-0 --node worker-7\n"
		    "  devplane explain-fit claim/gpu -o json\n",
	.group = COMMAND_OBJECT,
	.flags = flags,
	.options_size = sizeof(struct fit_options),
	.operands_min = 1,
	.operands_max = 2,
	.names = "resourceclaims",
	.run = explain_fit_run,
};
