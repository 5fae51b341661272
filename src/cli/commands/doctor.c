/*
 * `devplane doctor`: checks everything that has kept clusters from working, and says what to do.
 */
#include "base/json/json.h"
#include "base/text/columns.h"
#include "cli/commands/commands.h"
#include "cli/connect/kube_flags.h"
#include "cli/doctor/doctor.h"
#include "cli/output/output.h"

enum { FINDINGS_MAX = 1000 };

struct doctor_options {
	struct kube_options kube;
	const char *data_dir, *output, *endpoint;
	bool cluster;
};

static const struct flag flags[] = {
	UP_DIR_FLAG(struct doctor_options),
	{ "output", 'o', FLAG_STRING(struct doctor_options, output), .choices = "text|json|yaml",
	  .initial = "text", .help = "output format" },
	{ "cluster", 0, FLAG_BOOL(struct doctor_options, cluster),
	  .help = "check an installation in a cluster (deploy/): versions, workloads, rights" },
	{ "container-runtime-endpoint", 0, FLAG_STRING(struct doctor_options, endpoint),
	  .arg = "SOCKET", .help = "socket of the container runtime, instead of the usual paths" },
	KUBE_FLAGS(struct doctor_options, kube),
	{ NULL },
};

static size_t doctor_count(const struct doctor *d, enum doctor_verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < d->findings.n; i++)
		n += d->findings.v[i].verdict == verdict;
	return n;
}

/* --- printing -------------------------------------------------------------------------------- */

static const struct {
	const char *word, *colour;
} verdicts[] = {
	[DOCTOR_OK] = { "ok", "\033[32m" },
	[DOCTOR_WARN] = { "warn", "\033[33m" },
	[DOCTOR_FAIL] = { "fail", "\033[1;31m" },
};

static int doctor_print_tree(struct doctor *d, const char *format, struct error *err)
{
	struct json *o = json_make_object(d->arena), *list = json_make_array(d->arena);

	json_put_bool(d->arena, o, "ok", doctor_count(d, DOCTOR_FAIL) == 0);
	json_setz(o, "findings", list);
	for (size_t i = 0; i < d->findings.n; i++) {
		const struct doctor_finding *f = &d->findings.v[i];
		struct json *one = json_make_object(d->arena);

		json_append(list, one);
		json_put_str(d->arena, one, "verdict", str_from(verdicts[f->verdict].word));
		json_put_str(d->arena, one, "subject", str_from(f->subject));
		json_put_str(d->arena, one, "text", str_from(f->text));
		if (f->hint)
			json_put_str(d->arena, one, "hint", str_from(f->hint));
	}
	return output_tree(d->cli, format, o, err);
}

static void doctor_print_text(const struct doctor *d)
{
	bool colour = d->cli->out_colour;
	size_t width = 0, fails = doctor_count(d, DOCTOR_FAIL),
	       warns = doctor_count(d, DOCTOR_WARN);

	for (size_t i = 0; i < d->findings.n; i++)
		width = MAX(width, columns_count(str_from(d->findings.v[i].subject)));
	for (size_t i = 0; i < d->findings.n; i++) {
		const struct doctor_finding *f = &d->findings.v[i];

		(void)fprintf(d->cli->out, "%s%-4s%s  %-*s  %s%s%s\n",
			      colour ? verdicts[f->verdict].colour : "", verdicts[f->verdict].word,
			      colour ? "\033[0m" : "", (int)width, f->subject, f->text,
			      f->hint ? ": " : "", f->hint ? f->hint : "");
	}
	if (fails + warns == 0)
		(void)fprintf(d->cli->out, "\nno problems found\n");
	else
		(void)fprintf(d->cli->out, "\n%zu failed, %zu to look at\n", fails, warns);
}

/* --- the run --------------------------------------------------------------------------------- */

static int doctor_look(struct doctor *d, struct doctor_options *o, struct error *err)
{
	int r;

	d->install = o->cluster;
	d->folder = !o->cluster && !o->kube.kubeconfig && !o->kube.server && !o->kube.context;
	if (!o->cluster) /* nothing of it runs on this machine */
		doctor_check_machine(d);
	if (d->folder) {
		r = up_layout_init(&d->layout, d->arena, o->data_dir, err);
		if (r < 0)
			return r;
		d->pid = up_state_holder(&d->layout);
		doctor_check_folder(d);
		doctor_check_roles(d);
		o->kube.kubeconfig = d->layout.admin;
	}
	if (!d->folder || d->pid != 0)
		doctor_check_cluster(d, &o->kube);
	return 0;
}

static int doctor_run(struct cli *cli, struct error *err)
{
	struct doctor_options *o = cli->options;
	struct doctor d = { .cli = cli, .arena = &cli->arena, .runtime_endpoint = o->endpoint };
	int r;

	vec_init(&d.findings, FINDINGS_MAX);
	r = doctor_look(&d, o, err);
	if (r == 0 && strcmp(o->output, "text") != 0)
		r = doctor_print_tree(&d, o->output, err);
	else if (r == 0)
		doctor_print_text(&d);
	cli->status = doctor_count(&d, DOCTOR_FAIL) > 0 ? CLI_FAILURE : CLI_OK;
	vec_release(&d.findings);
	return r;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "find problems, and say how to fix them",
	.group = COMMAND_CLUSTER,
	.about = "Checks this machine, the folder of `devplane up` and its cluster, or any other "
		 "cluster with --kubeconfig, --context or --server. With --cluster it also checks "
		 "the parts that deploy/ installs there. It changes nothing. The exit code is 1 if "
		 "a "
		 "check fails.",
	.examples = "  devplane doctor\n  devplane doctor --kubeconfig ~/.kube/config\n"
		    "  devplane doctor --cluster\n",
	.flags = flags,
	.options_size = sizeof(struct doctor_options),
	.run = doctor_run,
};
