/*
 * site - `devplane ui`: the device page for any API server.
 *
 * Browsers talk to the site only. It serves the page's files, logs users in (a link that works
 * once, a bearer token, an OpenID Connect provider), and forwards the requests that the page needs
 * (allowed.h) to the API server with the credentials of the session's user, never with others.
 * Without a session nothing is forwarded. `GET /ui/explain` runs explain-fit for the user. Sessions
 * follow the rules of web/session, as on our own API server.
 *
 * On a loopback address without a certificate it speaks plain HTTP, and only to requests that name
 * that address: no name of another site can be made to point here. Elsewhere it needs TLS.
 *
 * Threads: its loop's.
 */
#ifndef CLI_UI_SITE_H
#define CLI_UI_SITE_H

#include "net/loop/addr.h"
#include "web/session/sessions.h"

struct kubeconfig;
struct log;
struct loop;
struct metrics;
struct oidc_provider;
struct serving_cert;
struct site;

struct site_opts {
	struct loop *loop;
	/* One for each cluster, the default first; the kubeconfigs must outlive the site. */
	const struct kubeconfig *const *clusters;
	const char *kubeconfig; /* the file that they are from; NULL: the usual one */
	size_t nclusters;
	bool own; /* the kubeconfigs' own credentials may be used, after a login by link */
	struct addr at; /* port 0 picks one */
	struct serving_cert *cert; /* NULL: plain HTTP; must outlive the site */
	const struct oidc_provider *oidc; /* NULL: no such login; must outlive the site */
	struct str oidc_ca; /* PEM; empty: the system's; must outlive the site */
	const struct log *log;
	struct metrics *metrics;
};

int site_new(const struct site_opts *opts, struct site **ret_site, struct error *err);

/* "https://127.0.0.1:8440" */
const char *site_url(const struct site *s);

/*
 * Asks the API server of the first cluster for the name of the kubeconfig's user, which also runs
 * an exec plugin. Calls `done` once, later. With `own` only, and before site_link().
 */
void site_identify(struct site *s, void (*done)(void *arg, const struct error *err), void *arg);

/* The name that site_identify() found. */
struct str site_own_name(const struct site *s);

/* A code that logs in the kubeconfig's user, once. Returns when it expires, wall time. */
int64_t site_link(struct site *s, char ret_code[static UI_SECRET_SIZE]);

/* Ends everything; `done` is called once, later. Then free it. */
void site_stop(struct site *s, void (*done)(void *arg), void *arg);
/* The loop must run one more turn to free all memory. NULL allowed. */
void site_free(struct site *s);

#endif
