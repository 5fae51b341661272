/*
 * Any bytes as a plugin's environment and configuration, and as what a plugin has printed. The
 * first line is CNI_COMMAND, then CNI_ARGS, CNI_IFNAME and CNI_CONTAINERID; the rest is the input.
 * Accepted values can be used in file names, and the printed JSON has the same values.
 */
#include "base/core/limits.h"
#include "drivers/cni/cni_plugin.h"
#include "drivers/drivers_limits.h"
#include "target.h"

enum { VARIABLES = 4 };

struct environment {
	const char *values[VARIABLES];
};

static const char *get(void *arg, const char *name)
{
	static const char *const names[VARIABLES] = { "CNI_COMMAND", "CNI_ARGS", "CNI_IFNAME",
						      "CNI_CONTAINERID" };
	const struct environment *env = arg;

	for (size_t i = 0; i < VARIABLES; i++)
		if (strcmp(name, names[i]) == 0)
			return env->values[i];
	return "/x";
}

static void check_name(struct str s)
{
	require(str_chr(s, '/') < 0 && str_chr(s, '\0') < 0);
	require(!str_eqz(s, ".") && !str_eqz(s, ".."));
}

static struct json *parse(struct arena *a, const struct buf *b)
{
	struct json *v;

	require(!b->overflow && b->n > 0 && b->p[b->n - 1] == '\n');
	require(json_parse(a, buf_str(b), NULL, &v, NULL) == 0);
	return v;
}

static void check_request(struct arena *a, const struct cni_request *q)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * MIB);

	check_name(q->pod_uid);
	check_name(q->driver);
	cni_print_result(&out, q);
	require((out.n > 0) == (q->command == CNI_ADD));
	if (q->command == CNI_ADD && q->prev_result)
		require(json_equal(parse(a, &out), q->prev_result));
	else if (q->command == CNI_ADD)
		(void)parse(a, &out);
	require(q->command != CNI_GC || json_is(q->valid, JSON_ARRAY));
}

static void check_output(struct arena *a, struct str output)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * MIB);
	struct error err = { 0 };
	struct json *result;

	require(cni_error_read(a, output, "nothing", &err) == -(int)err.code);
	require(err.code != ERR_OK && err.msg[0] && str_is_utf8(str_from(err.msg)));
	require(!strchr(err.msg, '\n'));
	cni_print_error(&out, STR_NULL, 7, err.msg, NULL);
	require(str_eqz(json_text_at(parse(a, &out), "msg"), err.msg));
	if (cni_result_read(a, output, &result, &err) == 0)
		check_name(cni_result_interface(result));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * MIB);
	struct str rest = str_of(data, size), line = STR_NULL;
	struct environment env;
	struct cni_request q;
	struct error err = { 0 };
	struct arena a;
	int code = 0;

	arena_init(&a, CNI_WORK_MAX);
	for (size_t i = 0; i < VARIABLES; i++)
		env.values[i] = str_split(&rest, '\n', &line) ? arena_strdup(&a, line) : "";
	if (cni_request_read(&a, get, &env, rest, &q, &code, &err) < 0) {
		require(code > 0 && err.code == ERR_INVALID);
		cni_print_error(&out, q.version, code, err.msg, NULL);
	} else {
		check_request(&a, &q);
		cni_print_versions(&out, q.version);
	}
	(void)parse(&a, &out);
	check_output(&a, rest);
	arena_release(&a);
	return 0;
}
