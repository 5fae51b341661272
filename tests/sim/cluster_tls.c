/*
 * TLS between servers and their clients.
 *
 * One authority, made by the code with which a server makes its own, issues the serving
 * certificates and those of half of the clients; the other half has tokens. Certificates are
 * replaced while the cluster runs, sometimes first the certificate and later its key. All go on.
 * Sometimes a server has a certificate of another authority for a while, and nobody asks it.
 *
 * Strangers ask for objects and try to write some: with certificates that look right and are not,
 * with a wrong token, with nothing, or without TLS. They never get anything but a refusal. A
 * stranger whose certificate is bad gets no HTTP answer at all.
 *
 * tls_wrap() sets the time at which OpenSSL judges a certificate to that of the connection's loop.
 * So the simulated clocks count, and certificates here are valid for longer than those jump. Only
 * the age of session tickets is measured by the real clock, and no client of ours resumes sessions.
 */
#include "cluster_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "net/tls/pki.h"
#include "server/startup/bootstrap.h"

enum {
	ASK_MS = 20 * 1000,
	DAY_S = 86400,
	MADE_S = 1688169600, /* 2023-07-01: half a year before the world begins */
	OLD_S = 1577836800, /* 2020-01-01 */
};

/* A certificate with its key, in two files: base.crt and base.key. */
struct pair {
	char base[160];
	struct cluster_identity who;
	const char *host; /* of a server; or NULL */
	/* The server's is forged since it had so many starts; 0: it is not. */
	unsigned forged_at;
	int64_t forged_ms; /* until when */
};

enum proof { PROOF_NONE, PROOF_CERTIFICATE, PROOF_TOKEN, PROOF_CLEAR };

struct stranger_kind {
	struct cluster_identity who;
	enum proof proof;
	bool forged; /* by an authority of the same name with another key */
	bool expired;
	bool serving; /* a certificate that is for servers only */
	int status; /* of the refusal; 0: there is no HTTP answer */
};

static const struct stranger_kind kinds[] = {
	{ { "forger", "admin", "system:masters" }, PROOF_CERTIFICATE, .forged = true },
	{ { "late", "admin", "system:masters" }, PROOF_CERTIFICATE, .expired = true },
	{ { "host", "admin", "system:masters" }, PROOF_CERTIFICATE, .serving = true },
	{ { "guest", "guest", "" }, PROOF_CERTIFICATE, .status = 403 },
	{ { "liar", "admin", "system:masters" }, PROOF_TOKEN, .status = 401 },
	{ { "nobody", "", "" }, PROOF_NONE, .status = 403 },
	{ { "clear", "admin", "system:masters" }, PROOF_CLEAR },
};

struct stranger {
	struct cluster *w;
	const struct stranger_kind *kind;
	unsigned server;
	struct kubeconfig kubeconfig;
	struct client *client; /* NULL: not made yet */
	struct client_request request;
	bool refused; /* as it should be, since faults have ended */
};

struct tls_world {
	struct pki_ca *ca, *forged;
	struct clock_manual clock, old;
	char ca_file[160];
	VEC(struct pair *) pairs; /* servers' and clients' */
	/* A key that is still to be written, or none. */
	char *late_path;
	struct buf late_key;
	int64_t late_ms;
	struct loop *loop; /* the strangers' */
	struct stranger strangers[ARRAY_SIZE(kinds)];
	unsigned names;
};

/* --- certificates ------------------------------------------------------------------------- */

static void must(struct cluster *w, int r, const struct error *err)
{
	if (r < 0)
		cluster_fail(w, "%s", err->msg);
}

static void write_file(struct cluster *w, const char *base, const char *suffix, struct str text)
{
	char path[192];
	struct error err;

	(void)snprintf(path, sizeof(path), "%s%s", base, suffix);
	must(w, file_write_atomic(path, text, 0600, &err), &err);
}

static void issue(struct cluster *w, const struct pair *p, const struct stranger_kind *kind,
		  struct buf *cert, struct buf *key)
{
	const struct tls_world *t = w->tls;
	struct str group = str_from(p->who.group), host = str_from(p->host ? p->host : "");
	struct pki_leaf leaf = { .common_name = str_from(p->who.user),
				 .organizations = &group,
				 .norganizations = group.n > 0,
				 .hosts = &host,
				 .nhosts = host.n > 0,
				 .server = p->host != NULL,
				 .client = !p->host,
				 .lifetime = 3000 * (int64_t)DAY_S };
	const struct clock_manual *clock = &t->clock;
	struct error err;

	if (kind && kind->expired) {
		clock = &t->old;
		leaf.lifetime = DAY_S;
	}
	must(w,
	     pki_issue(kind && kind->forged ? t->forged : t->ca, &leaf, &clock->clock, cert, key,
		       &err),
	     &err);
}

/* Writes a new certificate, and its key now or later. */
static void write_pair(struct cluster *w, const struct pair *p, const struct stranger_kind *kind,
		       int64_t key_ms)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(64 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(64 * KIB);
	struct tls_world *t = w->tls;

	issue(w, p, kind, &cert, &key);
	write_file(w, p->base, ".crt", buf_str(&cert));
	if (key_ms == 0) {
		write_file(w, p->base, ".key", buf_str(&key));
		return;
	}
	t->late_path = xstrdup(p->base);
	t->late_ms = sim_elapsed_ms(w->sim) + key_ms;
	buf_clear(&t->late_key);
	(void)buf_add_str(&t->late_key, buf_str(&key));
}

static struct pair *pair_of(struct cluster *w, const char *base)
{
	struct tls_world *t = w->tls;
	struct pair *p;

	for (size_t i = 0; i < t->pairs.n; i++)
		if (strcmp(base, t->pairs.v[i]->base) == 0)
			return t->pairs.v[i];
	p = XNEW(struct pair);
	(void)snprintf(p->base, sizeof(p->base), "%s", base);
	(void)vec_push(&t->pairs, p);
	return p;
}

void tls_begin(struct cluster *w)
{
	struct tls_world *t = XNEW(struct tls_world);
	struct error err;
	char dir[128];

	w->tls = t;
	vec_init(&t->pairs, SIZE_MAX / sizeof(struct pair *));
	buf_init(&t->late_key, 64 * KIB);
	clock_manual_init(&t->clock, 0, MADE_S * CLOCK_SEC);
	clock_manual_init(&t->old, 0, OLD_S * CLOCK_SEC);
	(void)snprintf(dir, sizeof(dir), "%s/authority", w->dir);
	(void)snprintf(t->ca_file, sizeof(t->ca_file), "%s/pki/ca.crt", dir);
	must(w, bootstrap_ca(dir, &t->clock.clock, &t->ca, &err), &err);
	must(w,
	     pki_ca_new(STR("devplane-ca"), 3000 * (int64_t)DAY_S, &t->clock.clock, &t->forged,
			&err),
	     &err);
	t->loop = sim_loop_new(w->sim, "stranger");
}

void tls_configure(struct cluster *w, unsigned server)
{
	struct cluster_server_config *c = &w->configs[server];
	char base[160];
	struct pair *p;

	(void)snprintf(base, sizeof(base), "%s/%s", w->dir, w->servers[server].host);
	p = pair_of(w, base);
	p->host = w->servers[server].host;
	p->who = (struct cluster_identity){ "server", "devplane-server", "" };
	write_pair(w, p, NULL, 0);
	(void)snprintf(c->cert_file, sizeof(c->cert_file), "%.150s.crt", base);
	(void)snprintf(c->key_file, sizeof(c->key_file), "%.150s.key", base);
	(void)snprintf(c->client_ca_file, sizeof(c->client_ca_file), "%s", w->tls->ca_file);
}

void tls_describe(struct cluster *w, const struct cluster_identity *who, unsigned server,
		  char *trust, size_t trust_size, char *user, size_t user_size)
{
	char base[160];
	struct pair *p;

	(void)snprintf(trust, trust_size, ",\"certificate-authority\":\"%s\"", w->tls->ca_file);
	if (strcmp(who->name, "server") == 0 || cluster_chance(w, 0.5))
		return;
	(void)snprintf(base, sizeof(base), "%s/%s-at-%u", w->dir, who->name, server);
	p = pair_of(w, base);
	p->who = *who;
	write_pair(w, p, NULL, 0);
	(void)snprintf(user, user_size,
		       "\"client-certificate\":\"%s.crt\",\"client-key\":\"%s.key\"", base, base);
}

/* --- faults ------------------------------------------------------------------------------- */

static void write_late_key(struct cluster *w)
{
	struct tls_world *t = w->tls;

	if (!t->late_path)
		return;
	write_file(w, t->late_path, ".key", buf_str(&t->late_key));
	free(TAKE(t->late_path));
}

/* Restarts the server with another certificate. */
static void forge(struct cluster *w, struct pair *p, struct cluster_role *server)
{
	write_pair(w, p, &kinds[0], 0);
	p->forged_at = server->starts;
	p->forged_ms = sim_elapsed_ms(w->sim) + cluster_faults_ms(w);
	cluster_tell(w, "%s gets a forged certificate", p->host);
	cluster_role_stop(server, 0);
}

static void mend(struct cluster *w, struct pair *p, struct cluster_role *server)
{
	p->forged_at = 0;
	write_pair(w, p, NULL, 0);
	cluster_tell(w, "%s gets a good certificate", p->host);
	cluster_role_stop(server, 0);
}

static struct cluster_role *server_of(struct cluster *w, const struct pair *p)
{
	for (unsigned i = 0; i < w->nservers; i++)
		if (p->host == w->servers[i].host)
			return &w->servers[i];
	return NULL;
}

void tls_renew(struct cluster *w)
{
	struct tls_world *t = w->tls;
	unsigned servers = (unsigned)w->nservers, all = (unsigned)t->pairs.n;
	bool serving = cluster_chance(w, 0.4);
	/* Servers' are the first. */
	struct pair *p = t->pairs.v[cluster_pick(w, serving ? servers : all)];
	int64_t key_ms = cluster_chance(w, 0.3) ? 1 + cluster_faults_ms(w) : 0;
	struct cluster_role *server = server_of(w, p);

	write_late_key(w);
	if (p->forged_at)
		return;
	if (server && cluster_chance(w, 0.2)) {
		forge(w, p, server);
		return;
	}
	cluster_tell(w, "renew the certificate of %s%s", str_from(p->base).p + strlen(w->dir) + 1,
		     key_ms ? ", its key later" : "");
	write_pair(w, p, NULL, key_ms);
	if (server)
		cluster_role_stop(server, cluster_faults_ms(w));
}

void tls_watch(struct cluster *w)
{
	int64_t now = sim_elapsed_ms(w->sim);

	if (w->quiet || now >= w->tls->late_ms)
		write_late_key(w);
	for (unsigned i = 0; i < w->nservers; i++) {
		struct pair *p = w->tls->pairs.v[i];

		if (p->forged_at && (w->quiet || now >= p->forged_ms))
			mend(w, p, &w->servers[i]);
	}
}

/* --- strangers ---------------------------------------------------------------------------- */

static bool may_be(const struct stranger *s, int status)
{
	if (status == 0)
		return true;
	return s->kind->status &&
	       (status == s->kind->status || status == 429 || status == 500 || status == 503);
}

static void on_data(struct client_request *r, struct str piece)
{
	const struct stranger *s = CONTAINER_OF(r, struct stranger, request);

	cluster_fail(s->w, "stranger %s sees %.*s", s->kind->who.name, STR_ARG(piece));
}

static void on_done(struct client_request *r, const struct client_answer *answer,
		    const struct error *err)
{
	struct stranger *s = CONTAINER_OF(r, struct stranger, request);

	if (!err || !may_be(s, answer->status))
		cluster_fail(s->w, "stranger %s is answered %d: %.*s", s->kind->who.name,
			     answer->status, STR_ARG(answer->body));
	if (s->w->quiet && answer->status == s->kind->status)
		s->refused = true;
}

static void describe_stranger(struct cluster *w, const struct stranger *s, char *text, size_t size)
{
	char user[512] = "", trust[256];
	const char *host = w->servers[s->server].host;
	struct pair p = { .who = s->kind->who, .host = s->kind->serving ? "elsewhere" : NULL };

	(void)snprintf(p.base, sizeof(p.base), "%s/stranger-%s", w->dir, s->kind->who.name);
	(void)snprintf(trust, sizeof(trust), ",\"certificate-authority\":\"%s\"", w->tls->ca_file);
	if (s->kind->proof == PROOF_CERTIFICATE) {
		write_pair(w, &p, s->kind, 0);
		(void)snprintf(user, sizeof(user),
			       "\"client-certificate\":\"%s.crt\",\"client-key\":\"%s.key\"",
			       p.base, p.base);
	} else if (s->kind->proof != PROOF_NONE) {
		/* Without TLS he has the right one, and nobody to give it to. */
		(void)snprintf(user, sizeof(user), "\"token\":\"user-%s\"",
			       s->kind->proof == PROOF_CLEAR ? "token" : "nekot");
	}
	(void)snprintf(
		text, size,
		"{\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"%s://%s:%u\"%s}}],"
		"\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}"
		"}],\"users\":[{\"name\":\"u\",\"user\":{%s}}],\"current-context\":\"x\"}",
		s->kind->proof == PROOF_CLEAR ? "http" : "https", host, CLUSTER_PORT + s->server,
		s->kind->proof == PROOF_CLEAR ? "" : trust, user);
}

/* The stranger of that kind, who can ask. */
static struct stranger *stranger_of(struct cluster *w, unsigned kind)
{
	struct stranger *s = &w->tls->strangers[kind];
	struct client_opts o = { .config = &s->kubeconfig };
	struct error err;
	char text[1024];

	if (s->client)
		return s;
	s->w = w;
	s->kind = &kinds[kind];
	s->server = w->nservers > 1 ? cluster_pick(w, (unsigned)w->nservers) : 0;
	describe_stranger(w, s, text, sizeof(text));
	must(w, kubeconfig_parse(&s->kubeconfig, str_from(text), "stranger", w->dir, NULL, &err),
	     &err);
	must(w, client_new(w->tls->loop, &o, &s->client, &err), &err);
	return s;
}

static void write_something(struct stranger *s, const struct resource *maps)
{
	struct cluster *w = s->w;
	char text[256];
	unsigned verb = cluster_pick(w, 3);

	(void)snprintf(text, sizeof(text),
		       "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
		       "\"%s%u\"},\"data\":{\"value\":\"1000000\"}}",
		       verb == 0 ? "stranger-" : "counter-", verb == 0 ? w->tls->names++ : 0);
	s->request.body = str_from(text);
	if (verb == 0)
		client_create(s->client, &s->request, maps, STR("default"), NULL);
	else if (verb == 1)
		client_update(s->client, &s->request, maps, STR("default"), STR("counter-0"), NULL);
	else
		client_delete(s->client, &s->request, maps, STR("default"), STR("counter-0"), NULL);
}

static void ask_for(struct stranger *s, unsigned what)
{
	struct resource maps = resource_builtin("", "v1", "configmaps"),
			pods = resource_builtin("", "v1", "pods"),
			secrets = resource_builtin("", "v1", "secrets");

	s->request = (struct client_request){ .no_retry = true,
					      .timeout_ms = ASK_MS,
					      .on_done = on_done };
	if (what == 0) {
		client_list(s->client, &s->request, &pods, STR_NULL);
	} else if (what == 1) {
		s->request.on_data = on_data;
		s->request.query = STR("watch=true&timeoutSeconds=30");
		client_list(s->client, &s->request, &pods, STR_NULL);
	} else if (what == 2) {
		client_get(s->client, &s->request, &maps, STR("default"), STR("counter-1"));
	} else if (what == 3) {
		client_list(s->client, &s->request, &secrets, STR_NULL);
	} else {
		write_something(s, &maps);
	}
}

void tls_ask(struct cluster *w)
{
	struct stranger *s = stranger_of(w, cluster_pick(w, ARRAY_SIZE(kinds)));
	unsigned what = cluster_pick(w, 7);

	if (client_busy(&s->request))
		return;
	cluster_tell(w, "stranger %s asks", s->kind->who.name);
	ask_for(s, what);
}

static void check_map(void *arg, struct str key, int64_t revision)
{
	if (str_starts(key, STR("default stranger-")))
		cluster_fail(arg, "a stranger wrote %.*s at %lld", STR_ARG(key),
			     (long long)revision);
}

void tls_check(struct cluster *w)
{
	for (unsigned i = 0; i < w->nservers; i++) {
		const struct cluster_role *server = &w->servers[i];
		const struct pair *p = w->tls->pairs.v[i];

		if (!cluster_server_ready(server))
			continue;
		cluster_server_each_version(server, "", "configmaps", check_map, w);
		if (p->forged_at && server->starts > p->forged_at &&
		    cluster_server_has_answered(server))
			cluster_fail(w, "somebody asks %s, whose certificate is forged",
				     server->host);
	}
}

bool tls_settled(struct cluster *w, char *why, size_t size)
{
	bool all = true;

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct stranger *s = stranger_of(w, i);

		if (s->refused)
			continue;
		(void)snprintf(why, size, "stranger %s does not get his refusal (%d)",
			       s->kind->who.name, s->kind->status);
		all = false;
		if (!client_busy(&s->request))
			ask_for(s, 0);
	}
	return all;
}

void tls_release(struct cluster *w)
{
	struct tls_world *t = w->tls;

	if (!t)
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		client_cancel(&t->strangers[i].request);
		client_free(t->strangers[i].client);
		kubeconfig_release(&t->strangers[i].kubeconfig);
	}
	sim_run_for(w->sim, 1000);
	loop_free(t->loop);
	for (size_t i = 0; i < t->pairs.n; i++)
		free(t->pairs.v[i]);
	vec_release(&t->pairs);
	free(t->late_path);
	buf_release(&t->late_key);
	pki_ca_free(t->ca);
	pki_ca_free(t->forged);
	free(TAKE(w->tls));
}
