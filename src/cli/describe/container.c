/*
 * The order and the words are kubectl's.
 */
#include "cli/describe/container.h"

#include <stdlib.h>

/* "80/TCP, 443/TCP": ports of the container or of the host. */
static void describe_ports(struct describe *d, const struct json *ports, const char *title,
			   const char *member)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * 1024);

	JSON_FOREACH (it, ports) {
		struct str protocol = json_text_at(it, "protocol");

		(void)buf_printf(&text, "%s%lld/%.*s", text.n > 0 ? ", " : "",
				 (long long)json_i64_at(it, member, 0),
				 STR_ARG(protocol.n > 0 ? protocol : STR("TCP")));
	}
	describe_line(d, 2, "%s%s:\t%s", title, json_count(ports) > 1 ? "s" : "",
		      text.n > 0 ? text.p : "<none>");
}

static void describe_words(struct describe *d, const char *title, const struct json *words)
{
	struct str rest, line;

	if (json_count(words) == 0)
		return;
	describe_line(d, 2, "%s:", title);
	JSON_FOREACH (it, words) {
		rest = json_str(it);
		while (str_split(&rest, '\n', &line))
			describe_line(d, 3, "%.*s", STR_ARG(line));
	}
}

static void describe_state(struct describe *d, const char *title, const struct json *state)
{
	const struct json *running = json_getz(state, "running");
	const struct json *ended = json_getz(state, "terminated");
	const struct json *waiting = json_getz(state, "waiting");

	describe_line(d, 2, "%s:\t%s", title,
		      running ? "Running"
		      : ended ? "Terminated"
			      : "Waiting");
	describe_field(d, 3, "Reason", json_text_at(ended ? ended : waiting, "reason"));
	describe_field(d, 3, "Message", json_text_at(ended ? ended : waiting, "message"));
	if (running)
		describe_field(d, 3, "Started",
			       describe_time(d, json_text_at(running, "startedAt")));
	if (!ended)
		return;
	describe_line(d, 3, "Exit Code:\t%lld", (long long)json_i64_at(ended, "exitCode", 0));
	if (json_i64_at(ended, "signal", 0) > 0)
		describe_line(d, 3, "Signal:\t%lld", (long long)json_i64_at(ended, "signal", 0));
	describe_field(d, 3, "Started", describe_time(d, json_text_at(ended, "startedAt")));
	describe_field(d, 3, "Finished", describe_time(d, json_text_at(ended, "finishedAt")));
}

static void describe_status(struct describe *d, const struct json *status)
{
	const struct json *last = json_getz(status, "lastState");

	describe_state(d, "State", json_getz(status, "state"));
	if (json_getz(last, "terminated"))
		describe_state(d, "Last State", last);
	describe_line(d, 2, "Ready:\t%s", json_true_at(status, "ready") ? "True" : "False");
	describe_line(d, 2, "Restart Count:\t%lld",
		      (long long)json_i64_at(status, "restartCount", 0));
}

static void describe_resources(struct describe *d, const struct json *resources)
{
	const struct json *claims = json_getz(resources, "claims");

	if (json_count(json_getz(resources, "limits")) > 0)
		describe_line(d, 2, "Limits:");
	describe_map(d, 3, json_getz(resources, "limits"));
	if (json_count(json_getz(resources, "requests")) > 0)
		describe_line(d, 2, "Requests:");
	describe_map(d, 3, json_getz(resources, "requests"));
	if (json_count(claims) > 0)
		describe_line(d, 2, "Claims:");
	JSON_FOREACH (it, claims) {
		struct str request = json_text_at(it, "request");

		describe_line(d, 3, "%.*s%s%.*s", STR_ARG(json_text_at(it, "name")),
			      request.n > 0 ? "/" : "", STR_ARG(request));
	}
}

/* As a URL; the host is the pod's, unless one is set. */
static const char *http_text(struct describe *d, const struct json *http)
{
	struct str scheme = json_text_at(http, "scheme"), path = json_text_at(http, "path");

	return arena_printf(d->arena, "http-get %.*s://%.*s:%.*s%s%.*s",
			    STR_ARG(arena_lower(d->arena, scheme.n > 0 ? scheme : STR("http"))),
			    STR_ARG(json_text_at(http, "host")),
			    STR_ARG(describe_value(d, json_getz(http, "port"))),
			    str_starts(path, STR("/")) ? "" : "/", STR_ARG(path));
}

static const char *exec_text(struct describe *d, const struct json *exec)
{
	const char *words = "";

	JSON_FOREACH (it, json_getz(exec, "command"))
		words = arena_printf(d->arena, "%s%s%.*s", words, *words ? " " : "",
				     STR_ARG(json_str(it)));
	return arena_printf(d->arena, "exec [%s]", words);
}

/* A short description of a probe. */
static struct str probe_text(struct describe *d, const struct json *probe)
{
	const struct json *http = json_getz(probe, "httpGet"), *tcp = json_getz(probe, "tcpSocket");
	const struct json *exec = json_getz(probe, "exec"), *grpc = json_getz(probe, "grpc");
	const char *what = "unknown";

	if (http)
		what = http_text(d, http);
	else if (tcp)
		what = arena_printf(d->arena, "tcp-socket %.*s:%.*s",
				    STR_ARG(json_text_at(tcp, "host")),
				    STR_ARG(describe_value(d, json_getz(tcp, "port"))));
	else if (exec)
		what = exec_text(d, exec);
	else if (grpc)
		what = arena_printf(d->arena, "grpc <pod>:%.*s %.*s",
				    STR_ARG(describe_value(d, json_getz(grpc, "port"))),
				    STR_ARG(json_text_at(grpc, "service")));
	return str_from(arena_printf(
		d->arena, "%s delay=%llds timeout=%llds period=%llds #success=%lld #failure=%lld",
		what, (long long)json_i64_at(probe, "initialDelaySeconds", 0),
		(long long)json_i64_at(probe, "timeoutSeconds", 1),
		(long long)json_i64_at(probe, "periodSeconds", 10),
		(long long)json_i64_at(probe, "successThreshold", 1),
		(long long)json_i64_at(probe, "failureThreshold", 3)));
}

static void describe_probes(struct describe *d, const struct json *container)
{
	static const struct {
		const char *member, *title;
	} rows[] = { { "livenessProbe", "Liveness" },
		     { "readinessProbe", "Readiness" },
		     { "startupProbe", "Startup" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct json *probe = json_getz(container, rows[i].member);

		if (probe)
			describe_field(d, 2, rows[i].title, probe_text(d, probe));
	}
}

/* The value of a field of the pod's own metadata; only the node knows other fields. */
static struct str field_value(const struct describe *d, struct str path)
{
	struct str prefix = STR("metadata.");
	struct str value = json_str(json_get(d->metadata, str_skip(path, prefix.n)));

	return str_starts(path, prefix) ? value : STR_NULL;
}

/* Values of secrets are not shown, only their source. */
static struct str env_text(struct describe *d, const struct json *e)
{
	const struct json *from = json_getz(e, "valueFrom");
	const struct json *field = json_getz(from, "fieldRef");
	const struct json *resource = json_getz(from, "resourceFieldRef");
	const struct json *secret = json_getz(from, "secretKeyRef");
	const struct json *map = json_getz(from, "configMapKeyRef");
	const struct json *ref = secret ? secret : map;

	if (ref)
		return str_from(arena_printf(
			d->arena, "<set to the key '%.*s' %s '%.*s'>\tOptional: %s",
			STR_ARG(json_text_at(ref, "key")), secret ? "in secret" : "of config map",
			STR_ARG(json_text_at(ref, "name")),
			json_true_at(ref, "optional") ? "true" : "false"));
	if (field)
		return str_from(
			arena_printf(d->arena, "%.*s (%.*s:%.*s)",
				     STR_ARG(field_value(d, json_text_at(field, "fieldPath"))),
				     STR_ARG(json_text_at(field, "apiVersion")),
				     STR_ARG(json_text_at(field, "fieldPath"))));
	if (resource)
		return str_from(arena_printf(d->arena, " (%.*s)",
					     STR_ARG(json_text_at(resource, "resource"))));
	return json_text_at(e, "value");
}

static void describe_env(struct describe *d, const struct json *container)
{
	const struct json *env = json_getz(container, "env");

	JSON_FOREACH (it, json_getz(container, "envFrom")) {
		struct str map = json_text_at(json_getz(it, "configMapRef"), "name");
		struct str secret = json_text_at(json_getz(it, "secretRef"), "name");

		describe_line(d, 2, "Environment Variables from:\t%.*s %s",
			      STR_ARG(map.n > 0 ? map : secret),
			      map.n > 0 ? "ConfigMap" : "Secret");
	}
	describe_line(d, 2, "Environment:%s", json_count(env) == 0 ? "\t<none>" : "");
	JSON_FOREACH (it, env)
		describe_line(d, 3, "%.*s:\t%.*s", STR_ARG(json_text_at(it, "name")),
			      STR_ARG(env_text(d, it)));
}

static int by_path(const void *a, const void *b)
{
	return str_cmp(json_text_at(*(const struct json *const *)a, "mountPath"),
		       json_text_at(*(const struct json *const *)b, "mountPath"));
}

static void describe_mounts(struct describe *d, const struct json *container)
{
	const struct json *mounts = json_getz(container, "volumeMounts");
	const struct json **v = ARENA_ARRAY(d->arena, const struct json *, json_count(mounts) + 1);
	size_t n = 0;

	JSON_FOREACH (it, mounts)
		v[n++] = it;
	qsort(v, n, sizeof(*v), by_path);
	describe_line(d, 2, "Mounts:%s", n == 0 ? "\t<none>" : "");
	for (size_t i = 0; i < n; i++) {
		struct str sub = json_text_at(v[i], "subPath");

		describe_line(d, 3, "%.*s from %.*s (%s%s%.*s%s)",
			      STR_ARG(json_text_at(v[i], "mountPath")),
			      STR_ARG(json_text_at(v[i], "name")),
			      json_true_at(v[i], "readOnly") ? "ro" : "rw",
			      sub.n > 0 ? ",path=\"" : "", STR_ARG(sub), sub.n > 0 ? "\"" : "");
	}
}

static void describe_one(struct describe *d, const struct json *c, const struct json *status)
{
	const struct json *ports = json_getz(c, "ports");

	describe_line(d, 1, "%.*s:", STR_ARG(json_text_at(c, "name")));
	if (status)
		describe_line(d, 2, "Container ID:\t%.*s",
			      STR_ARG(json_text_at(status, "containerID")));
	describe_line(d, 2, "Image:\t%.*s", STR_ARG(json_text_at(c, "image")));
	if (status)
		describe_line(d, 2, "Image ID:\t%.*s", STR_ARG(json_text_at(status, "imageID")));
	describe_ports(d, ports, "Port", "containerPort");
	describe_ports(d, ports, "Host Port", "hostPort");
	describe_words(d, "Command", json_getz(c, "command"));
	describe_words(d, "Args", json_getz(c, "args"));
	if (status)
		describe_status(d, status);
	describe_resources(d, json_getz(c, "resources"));
	describe_probes(d, c);
	describe_env(d, c);
	describe_mounts(d, c);
}

void describe_containers(struct describe *d, const char *title, const char *list,
			 const char *statuses)
{
	const struct json *containers = json_getz(d->spec, list);

	if (json_count(containers) == 0)
		return;
	describe_line(d, 0, "%s:", title);
	JSON_FOREACH (it, containers)
		describe_one(d, it,
			     json_find(json_getz(d->status, statuses), "name",
				       json_text_at(it, "name")));
}
