/*
 * The server's request is a query of the page; only names can be in it (web/explain/query.h).
 */
#include "cli/up/explainer.h"

#include "cli/up/child.h"
#include "net/loop/program_host.h"
#include "web/explain/explain.h"
#include "web/web_limits.h"

enum { HOST_MS = EXPLAIN_MS + 5000 }; /* the server's own limit comes first */

static int explainer_argv(void *arg, struct str request, struct arena *a,
			  const char *const **ret_argv, struct error *err)
{
	struct up_plan p = *(const struct up_plan *)arg;
	const char *const *words;
	int r = explain_host_argv(request, a, &words, err);

	if (r < 0)
		return r;
	p.arena = p.layout.arena = a;
	*ret_argv = up_child_argv(&p, &up_explain_role, words);
	return 0;
}

struct program_host *up_explainer_new(struct loop *l, const struct up_plan *p)
{
	struct program_host_opts o = { .max = UI_PASSES_MAX,
				       .timeout_ms = HOST_MS,
				       .argv = explainer_argv,
				       .arg = (void *)(uintptr_t)p };

	return program_host_new(l, &o);
}
