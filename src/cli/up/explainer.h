/*
 * up_explainer - runs explanations for the page of the server, which may not start processes.
 *
 * The server names a pod or a claim, and passes a kubeconfig with a token of the page's user. The
 * command and its sandbox are decided here: it has a user of its own, may read the system's files
 * only, and can neither write files nor start programs.
 */
#ifndef CLI_UP_EXPLAINER_H
#define CLI_UP_EXPLAINER_H

#include "cli/up/roles.h"

struct loop;

/* The plan must outlive it. */
struct program_host *up_explainer_new(struct loop *l, const struct up_plan *p);

#endif
