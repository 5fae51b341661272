/*
 * `devplane page`: prints a fresh link to the device page. Standard output gets only the link,
 * standard error the explanations.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/connect/kube.h"
#include "cli/connect/page_link.h"
#include "cli/up/layout.h"
#include "net/loop/program.h"

enum { OPEN_TIMEOUT_MS = 30 * 1000 };

struct page_options {
	struct kube_options kube;
	const char *data_dir;
	bool open;
};

static const struct flag flags[] = {
	{ "data-dir", 'd', FLAG_STRING(struct page_options, data_dir), .arg = "DIR",
	  .help = "--data-dir of the cluster; without it and --kubeconfig, that of \"devplane up\" "
		  "if it runs" },
	{ "open", 0, FLAG_BOOL(struct page_options, open), .help = "open the link in the browser" },
	KUBE_FLAGS(struct page_options, kube),
	{ NULL },
};

struct page {
	struct cli *cli;
	const struct page_options *options;
	const char *data_dir; /* NULL: use the user's kubeconfig */
	struct kube kube;
	struct page_link link;
	const char *url, *expires;
	struct error err;
	bool done;
};

/* --- which cluster --------------------------------------------------------------------------- */

/* Flags or $KUBECONFIG select the cluster; without them it is the local one that runs. */
static int find_cluster(struct page *p, struct kube_options *ret_kube, struct error *err)
{
	const struct page_options *o = p->options;
	bool named = o->kube.kubeconfig || o->kube.server || o->kube.context || o->kube.cluster ||
		     getenv("KUBECONFIG");
	struct up_layout l;
	int r;

	*ret_kube = o->kube;
	if (o->data_dir && o->kube.kubeconfig)
		return cli_bad_usage(
			p->cli, err,
			"--data-dir and --kubeconfig exclude each other: both name a cluster");
	if (named && !o->data_dir)
		return 0;
	r = up_layout_init(&l, &p->cli->arena, o->data_dir, err);
	if (!o->data_dir && (r < 0 || access(l.admin, R_OK) < 0))
		return 0;
	if (r < 0)
		return r;
	p->data_dir = l.dir;
	ret_kube->kubeconfig = l.admin;
	return 0;
}

/* --- the request ----------------------------------------------------------------------------- */

static void on_link(struct page_link *link, struct str code, struct str expires,
		    const struct error *err)
{
	struct page *p = link->arg;

	if (err) {
		p->err = *err;
	} else {
		p->url = page_link_url(&p->cli->arena, p->kube.config.server, code);
		p->expires = arena_strdup(&p->cli->arena, expires);
	}
	p->done = true;
	loop_stop(p->kube.loop);
}

static int page_ask(struct page *p, struct error *err)
{
	p->link = (struct page_link){ .on_done = on_link, .arg = p };
	page_link_ask(p->kube.client, &p->link, PAGE_LINK_SECONDS);
	while (!p->done)
		loop_run(p->kube.loop);
	if (!p->err.code)
		return 0;
	return error_wrap(err, error_copy(err, &p->err), "%.*s", STR_ARG(p->kube.config.server));
}

/* --- printing -------------------------------------------------------------------------------- */

static void page_explain(struct page *p)
{
	const char *print = page_link_fingerprint(&p->cli->arena, p->kube.config.ca);

	(void)fflush(p->cli->out);
	(void)fprintf(p->cli->err, "It logs in once, until %s.\n", p->expires);
	if (p->data_dir)
		(void)fprintf(p->cli->err,
			      "Your browser will not know the certificate: trust %s/pki/ca.crt "
			      "there, or compare its fingerprint.\n",
			      p->data_dir);
	else if (print[0])
		(void)fprintf(
			p->cli->err,
			"Your browser may not know the certificate: compare its fingerprint.\n");
	if (print[0])
		(void)fprintf(p->cli->err, "SHA-256 of the CA: %s\n", print);
}

static void on_opened(void *arg, const struct program_end *end)
{
	struct page *p = arg;

	if (end->status != 0 || end->signum != 0)
		(void)error_set(&p->err, ERR_INTERNAL,
				"no browser could be opened (xdg-open failed); open the link by "
				"hand");
	p->done = true;
	loop_stop(p->kube.loop);
}

static int open_browser(struct page *p, struct error *err)
{
	const char *const argv[] = { "xdg-open", p->url, NULL };
	struct program_opts opts = { .argv = argv,
				     .output_max = 4096,
				     .timeout_ms = OPEN_TIMEOUT_MS,
				     .on_end = on_opened,
				     .arg = p };
	struct program *program = NULL;
	int r = program_new(p->kube.loop, &opts, &program, err);

	if (r < 0)
		return error_wrap(err, r, "no browser could be opened; open the link by hand");
	p->done = false;
	while (!p->done)
		loop_run(p->kube.loop);
	program_free(program);
	return p->err.code == ERR_OK ? 0 : error_copy(err, &p->err);
}

static int page_run(struct cli *cli, struct error *err)
{
	struct page p = { .cli = cli, .options = cli->options };
	struct kube_options kube;
	int r = find_cluster(&p, &kube, err);

	if (r < 0)
		return r;
	r = kube_open(&p.kube, cli, &kube, err);
	if (r == 0)
		r = page_ask(&p, err);
	if (r == 0) {
		(void)fprintf(cli->out, "%s\n", p.url);
		page_explain(&p);
		if (p.options->open)
			r = open_browser(&p, err);
	}
	kube_close(&p.kube);
	return r;
}

const struct command cmd_page = {
	.name = "page",
	.summary = "print a link to the device page",
	.group = COMMAND_OBJECT,
	.about =
		"The device page shows nodes, pools and devices live in a browser. The link works "
		"once, within ten minutes, and logs in with your rights, so do not share it. The "
		"session ends after an hour without use, after twelve hours, or when your token or "
		"certificate expires.",
	.examples = "  devplane page\n"
		    "  devplane page --open\n"
		    "  devplane page --kubeconfig team.kubeconfig\n",
	.flags = flags,
	.options_size = sizeof(struct page_options),
	.run = page_run,
};
