/*
 * Programs of requests to a whole API server: users create, patch, watch, stop to read, hang up and
 * lose their rights. server_facts.h has the facts that must hold after every step.
 *
 * An input has a step per line: a letter, a digit for the connection, a letter for the kind, a
 * digit for the object, and text. Connections 0 to 3 wait for the answer; 4 to 7 are the same ones,
 * without waiting. Any other byte counts as some letter or digit, so that every input is a program.
 *
 *   o0b2    connection 0 is cut, and then of user b ('a'dmin, 'b' alice, 'c' bob, 'd' carol, 'e'
 *           nobody), over HTTP/2; 1: over HTTP/1.1; 0: over HTTP/2 with hardly any window
 *   c0a1..  create; the text is a whole body, the part behind the metadata, or empty for a body
 *           that is valid
 *   p j s   merge, JSON and strategic merge patch; S: merge patch of the status; a: apply; u:
 *           update
 *   d g     delete; get
 *   D l w   delete the collection, list, watch; the text is a query
 *   b0a13   create an object with so much text; B: the same, and half of the body is never sent
 *   e0d05.. create a claim with so many selectors, each of which has the text many times
 *   q0a13   eight requests with so long a head
 *   h0 r0   the client stops to read; reads again
 *   x0      the client hangs up
 *   v0c V0c revoke and grant the right of bob ('c') or carol ('d')
 *   t5      time passes
 */
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "server_facts.h"

enum {
	STEPS_MAX = 48,
	STEP_MS = 200,
	HEADS = 8,
	WORLD_INPUTS = 2000,
	EXPRESSION = 1500,
	PIECE = 16 << 10,
	HEAD_PIECE = 8 << 10
};

struct program {
	struct world *w;
	struct facts facts;
	enum world_user users[WORLD_CONNS];
	bool costly; /* it had expressions: under sanitizers they take a second */
};

struct step {
	char verb, digit;
	unsigned conn, name;
	bool waits;
	enum world_kind kind;
	struct str text;
};

/* Of each kind: apiVersion and kind, and what a valid object has beside its metadata. */
static const struct {
	const char *head, *rest;
} bodies[WORLD_KINDS] = {
	[WORLD_MAPS] = { "v1\",\"kind\":\"ConfigMap", "\"data\":{\"k\":\"v\"}" },
	[WORLD_SECRETS] = { "v1\",\"kind\":\"Secret", "\"stringData\":{\"k\":\"v\"}" },
	[WORLD_PODS] = { "v1\",\"kind\":\"Pod",
			 "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}" },
	[WORLD_CLAIMS] = { "resource.k8s.io/v1\",\"kind\":\"ResourceClaim",
			   "\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
			   "\"deviceClassName\":\"n0\"}}]}}" },
	[WORLD_LEASES] = { "coordination.k8s.io/v1\",\"kind\":\"Lease",
			   "\"spec\":{\"holderIdentity\":\"h\",\"leaseDurationSeconds\":10}" },
	[WORLD_BINDINGS] = { "rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding",
			     "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":"
			     "\"Role\","
			     "\"name\":\"alice\"}" },
	[WORLD_CLASSES] = { "resource.k8s.io/v1\",\"kind\":\"DeviceClass",
			    "\"spec\":{\"selectors\":[{\"cel\":{\"expression\":\"device.driver == "
			    "'d'\"}}]}" },
	[WORLD_DEFINITIONS] = { "apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition",
				"" },
};

/* --- requests ------------------------------------------------------------------------------- */

static struct facts_ask *ask_new(struct program *p, const struct step *s, char verb)
{
	struct facts_ask *k = XNEW(struct facts_ask);

	k->f = &p->facts;
	k->user = p->users[s->conn];
	k->kind = s->kind;
	k->name = s->name;
	k->verb = verb;
	return k;
}

static void send_step(struct program *p, const struct step *s, char verb, struct world_request *r)
{
	struct facts_ask *k = ask_new(p, s, verb);

	k->plain = s->text.n == 0;
	r->user = k->user;
	facts_sent(k, s->conn);
	world_send(p->w, s->conn, r, &k->ask);
}

static void add_definition(struct buf *b, unsigned name)
{
	(void)buf_printf(
		b,
		"\"spec\":{\"group\":\"fuzz.example.com\",\"scope\":\"Namespaced\",\"names\":{"
		"\"plural\":\"n%us\",\"singular\":\"n%u\",\"kind\":\"N%u\"},\"versions\":[{"
		"\"name\":\"v1\","
		"\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
		"\"object\","
		"\"x-kubernetes-validations\":[{\"rule\":\"has(self.metadata)\"}]}}}]}",
		name, name, name);
}

/* Takes the text as a whole body, or as the part behind the metadata. */
static void add_body(struct buf *b, const struct step *s)
{
	char name[48];

	if (s->text.n && s->text.p[0] == '{') {
		(void)buf_add_str(b, s->text);
		return;
	}
	facts_name(s->kind, s->name, name, sizeof(name));
	(void)buf_printf(b, "{\"apiVersion\":\"%s\",\"metadata\":{\"name\":\"%s\"},",
			 bodies[s->kind].head, name);
	if (s->text.n)
		(void)buf_add_str(b, s->text);
	else if (s->kind == WORLD_DEFINITIONS)
		add_definition(b, s->name);
	else
		(void)buf_addz(b, bodies[s->kind].rest);
	(void)buf_addc(b, '}');
}

static void add_target(struct buf *b, const struct step *s, bool object, const char *rest)
{
	char name[48];

	(void)buf_addz(b, world_path(s->kind));
	facts_name(s->kind, s->name, name, sizeof(name));
	if (object)
		(void)buf_printf(b, "/%s", name);
	(void)buf_addz(b, rest);
}

/* Bytes that a target cannot have are encoded. */
static void add_query(struct buf *b, struct str query)
{
	for (size_t i = 0; i < query.n; i++) {
		unsigned char c = (unsigned char)query.p[i];

		if (c > ' ' && c < 0x7f && c != '#')
			(void)buf_addc(b, (char)c);
		else
			(void)buf_printf(b, "%%%02X", c);
	}
}

static const char *patch_type(char verb)
{
	switch (verb) {
	case 'j':
		return "application/json-patch+json";
	case 's':
		return "application/strategic-merge-patch+json";
	case 'a':
		return "application/apply-patch+yaml";
	default:
		return "application/merge-patch+json";
	}
}

static void write_object(struct program *p, const struct step *s)
{
	CLEANUP(buf_release) struct buf target = BUF_INIT(4096), body = BUF_INIT(1 << 20);
	struct world_request r = { .method = "PATCH", .content_type = "application/json" };
	bool create = s->verb == 'c';

	add_target(&target, s, !create, s->verb == 'S' ? "/status" : "");
	if (s->verb == 'a')
		(void)buf_addz(&target, "?fieldManager=fuzz&force=true");
	if (create || s->verb == 'u' || s->verb == 'a')
		add_body(&body, s);
	else
		(void)buf_add_str(&body, s->text.n ? s->text : STR("{}"));
	if (create)
		r.method = "POST";
	else if (s->verb == 'u')
		r.method = "PUT";
	else
		r.content_type = patch_type(s->verb);
	r.target = target.p;
	r.body = buf_str(&body);
	send_step(p, s, create ? 'c' : 'p', &r);
}

static void create_large(struct program *p, const struct step *s)
{
	CLEANUP(buf_release) struct buf target = BUF_INIT(4096), body = BUF_INIT(4 << 20);
	struct world_request r = { .method = "POST", .content_type = "application/json" };
	size_t n = (size_t)PIECE << (s->digit & 7);
	char name[48];

	add_target(&target, s, false, "");
	facts_name(s->kind, s->name, name, sizeof(name));
	(void)buf_printf(&body, "{\"metadata\":{\"name\":\"%s\"},\"data\":{\"k\":\"", name);
	for (size_t i = 0; i < n; i += 16)
		(void)buf_addz(&body, "0123456789abcdef");
	(void)buf_addz(&body, "\"}}");
	r.target = target.p;
	r.body = buf_str(&body);
	r.cut = s->verb == 'B' ? body.n / 2 : 0;
	send_step(p, s, 'c', &r);
}

/*
 * The text several times, and a part that no other selector has, so that it is compiled for
 * itself.
 */
static void add_expression(struct buf *b, struct str text, unsigned unique)
{
	size_t times = text.n ? EXPRESSION / (text.n + 2) : 0;

	for (size_t i = 0; i < times; i++) {
		for (size_t k = 0; k < text.n; k++)
			(void)buf_printf(b, strchr("\"\\", text.p[k]) ? "\\%c" : "%c", text.p[k]);
		(void)buf_addz(b, "||");
	}
	(void)buf_printf(b, "device.driver=='%u'", unique);
}

static void create_expressions(struct program *p, const struct step *s)
{
	CLEANUP(buf_release) struct buf target = BUF_INIT(4096), body = BUF_INIT(4 << 20);
	struct world_request r = { .method = "POST", .content_type = "application/json" };
	struct step of = *s;
	char name[48];

	if (p->costly)
		return;
	p->costly = true;
	of.kind = WORLD_CLAIMS;
	add_target(&target, &of, false, "");
	facts_name(of.kind, of.name, name, sizeof(name));
	(void)buf_printf(&body,
			 "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"devices\":{\"requests\":[{"
			 "\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"n0\",\"selectors\":[",
			 name);
	for (unsigned i = 0; i < 1U << (s->digit & 3); i++) {
		(void)buf_printf(&body, "%s{\"cel\":{\"expression\":\"", i ? "," : "");
		add_expression(&body, str_skip(s->text, MIN(s->text.n, (size_t)1)), i);
		(void)buf_addz(&body, "\"}}");
	}
	(void)buf_addz(&body, "]}}]}}}");
	r.target = target.p;
	r.body = buf_str(&body);
	send_step(p, &of, 'c', &r);
}

static void read_or_delete(struct program *p, const struct step *s)
{
	CLEANUP(buf_release) struct buf target = BUF_INIT(256 << 10);
	struct world_request r = { .method = s->verb == 'd' || s->verb == 'D' ? "DELETE" : "GET" };
	bool object = s->verb == 'd' || s->verb == 'g';

	add_target(&target, s, object, object ? "" : "?");
	if (s->verb == 'w')
		(void)buf_addz(&target, "watch=1&");
	if (!object)
		add_query(&target, s->text);
	r.target = target.p;
	send_step(p, s, s->verb, &r);
}

static void send_heads(struct program *p, const struct step *s)
{
	CLEANUP(buf_release) struct buf target = BUF_INIT(4096);
	struct world_request r = { .method = "GET",
				   .padding = (size_t)HEAD_PIECE * (s->digit & 7) };

	add_target(&target, s, false, "");
	r.target = target.p;
	for (unsigned i = 0; i < HEADS; i++)
		send_step(p, s, 'l', &r);
}

/* --- steps ---------------------------------------------------------------------------------- */

static enum world_form form_of(char digit)
{
	return digit == '0' ? WORLD_NARROW : digit == '1' ? WORLD_HTTP1 : WORLD_HTTP2;
}

static void open_conn(struct program *p, const struct step *s)
{
	world_cut(p->w, s->conn);
	world_hold(p->w, s->conn, false);
	world_choose(p->w, s->conn, form_of(s->digit));
	p->users[s->conn] = s->kind % WORLD_USERS;
	/* The server learns that the old one is gone before anything is counted for the new one. */
	world_run(p->w, STEP_MS);
	p->facts.used_by[s->conn] = FACTS_NOBODY;
}

static void change_right(struct program *p, const struct step *s)
{
	char path[256];
	bool bob = s->kind != WORLD_CLAIMS;
	enum world_user user = bob ? WORLD_BOB : WORLD_CAROL;
	int status;

	(void)snprintf(path, sizeof(path), "%s", bob ? world_path(WORLD_BINDINGS) : WORLD_ACCOUNTS);
	if (s->verb == 'v') {
		(void)snprintf(path, sizeof(path), "%s/%s",
			       bob ? world_path(WORLD_BINDINGS) : WORLD_ACCOUNTS,
			       bob ? "bob" : "carol");
		status = world_call(p->w, "DELETE", path, NULL, NULL);
		require(status == 200 || status == 404);
		facts_revoke(&p->facts, user);
		return;
	}
	facts_grant(&p->facts, user);
	if (bob)
		(void)world_call(p->w, "POST", path, WORLD_BIND_BOB, NULL);
	else
		world_admit_carol(p->w);
}

static void pass_time(struct program *p, const struct step *s)
{
	static const int64_t ms[] = { 1, 50, 1000, 5000, 15000, 31000, 61000, 170000 };

	world_run(p->w, ms[(unsigned char)s->digit & 7]);
}

static void run_step(struct program *p, const struct step *s)
{
	switch (s->verb) {
	case 'o':
		open_conn(p, s);
		break;
	case 'b':
	case 'B':
		create_large(p, s);
		break;
	case 'e':
		create_expressions(p, s);
		break;
	case 'q':
		send_heads(p, s);
		break;
	case 'h':
	case 'r':
		world_hold(p->w, s->conn, s->verb == 'h');
		break;
	case 'x':
		world_cut(p->w, s->conn);
		break;
	case 'v':
	case 'V':
		change_right(p, s);
		break;
	case 't':
		pass_time(p, s);
		break;
	case 'd':
	case 'g':
	case 'D':
	case 'l':
	case 'w':
		read_or_delete(p, s);
		break;
	default:
		write_object(p, s);
		break;
	}
}

static bool parse_step(struct program *p, struct str line, struct step *ret_step)
{
	static const char verbs[] = "ocpjsSaudgDlwbBeqhrxvVt";
	struct step s = { .verb = line.n ? line.p[0] : '\0', .digit = '2' };
	char at[4] = "000";

	if (!line.n)
		return false;
	memcpy(at, line.p + 1, MIN(line.n - 1, (size_t)3));
	if (!strchr(verbs, s.verb))
		s.verb = verbs[(unsigned char)s.verb % (sizeof(verbs) - 1)];
	s.conn = (unsigned char)at[0] % WORLD_CONNS;
	s.waits = !((unsigned char)at[0] & 4);
	s.kind = ((unsigned char)at[1] - 'a') & (WORLD_KINDS - 1);
	s.name = (unsigned char)at[2] % FACTS_NAMES;
	s.text = str_skip(line, MIN(line.n, (size_t)4));
	if (s.verb == 'o')
		s.digit = at[2];
	else if (s.verb == 't')
		s.digit = at[0];
	else if (s.text.n)
		s.digit = s.text.p[0];
	/* Users would get rights that these facts know nothing of. */
	if (s.kind == WORLD_BINDINGS && p->users[s.conn] == WORLD_ADMIN && s.verb != 'o')
		s.kind = WORLD_MAPS;
	*ret_step = s;
	return true;
}

static void run_program(struct program *p, struct str text)
{
	struct str line;
	struct step s;

	for (unsigned n = 0; n < STEPS_MAX && str_split(&text, '\n', &line); n++) {
		if (!parse_step(p, line, &s))
			continue;
		run_step(p, &s);
		if (s.waits)
			world_run(p->w, STEP_MS);
		facts_check(&p->facts);
	}
}

/* --- the world between inputs --------------------------------------------------------------- */

static void restore_rights(struct program *p)
{
	if (p->facts.rights[WORLD_BOB].revoked)
		require(world_call(p->w, "POST", world_path(WORLD_BINDINGS), WORLD_BIND_BOB,
				   NULL) == 201);
	if (p->facts.rights[WORLD_CAROL].revoked)
		world_admit_carol(p->w);
}

/* False: objects are left, for example those with finalizers. */
static bool tidy(struct world *w)
{
	char path[256];
	bool clean = true;

	for (unsigned i = 0; i < WORLD_KINDS; i++) {
		if (i == WORLD_BINDINGS || !world_count(w, i))
			continue;
		(void)snprintf(path, sizeof(path), "%s?gracePeriodSeconds=0", world_path(i));
		(void)world_call(w, "DELETE", path, NULL, NULL);
		if (world_count(w, i) && i == WORLD_DEFINITIONS)
			world_run(w, 5000);
		clean = clean && !world_count(w, i);
	}
	return clean;
}

static struct world *world; /* lives for many inputs */
static unsigned inputs;

static void end_world(void)
{
	if (world)
		world_free(world);
	world = NULL;
}

static void begin_world(void)
{
	if (!world && !inputs)
		(void)atexit(end_world);
	if (!world)
		world = world_new();
	inputs++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct program p = { .users = { WORLD_ADMIN, WORLD_ALICE, WORLD_BOB, WORLD_ANONYMOUS } };

	begin_world();
	p.w = world;
	for (unsigned i = 0; i < WORLD_CONNS; i++)
		world_choose(world, i, WORLD_HTTP2);
	facts_begin(&p.facts, world);
	run_program(&p, str_of((const char *)data, size));
	for (unsigned i = 0; i < WORLD_CONNS; i++) {
		world_hold(world, i, false);
		world_cut(world, i);
	}
	world_run(world, 2000);
	facts_check_end(&p.facts);
	restore_rights(&p);
	if (!tidy(world) || inputs % WORLD_INPUTS == 0)
		end_world();
	return 0;
}
