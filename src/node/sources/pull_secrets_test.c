/*
 * Which credentials an image is pulled with.
 */
#include "node/sources/pull_secrets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text/base64.h"
#include "net/loop/loop.h"
#include "node/sources/sources.h"

static const char keyring[] =
	"{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"aHViOnB3\"},"
	"\"docker.io/library/tool\":{\"username\":\"tool\",\"password\":\"t\"},"
	"\"registry.example.com\":{\"username\":\"wide\",\"password\":\"w\"},"
	"\"registry.example.com/team\":{\"username\":\"team\",\"password\":\"t\"},"
	"\"*.cloud.example.com:5000\":{\"username\":\"star\",\"password\":\"s\"}}}";

static const char pod_text[] =
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\"},"
	"\"spec\":{\"imagePullSecrets\":[{\"name\":\"none\"},{\"name\":\"s\"}]}}";

static void put_secret(struct sources *s)
{
	CLEANUP(buf_release) struct buf data = BUF_INIT(4096), text = BUF_INIT(8192);

	assert_int_equal(base64_encode(&data, str_from(keyring), BASE64_STD), 0);
	(void)buf_printf(&text,
			 "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\","
			 "\"uid\":\"x\"},"
			 "\"type\":\"kubernetes.io/"
			 "dockerconfigjson\",\"data\":{\".dockerconfigjson\":\"%.*s\"}}",
			 STR_ARG(buf_str(&data)));
	assert_int_equal(sources_put(s, "secrets", buf_str(&text), NULL), 0);
}

static void the_longest_match_is_taken(void **state)
{
	static const struct {
		const char *image, *user;
	} rows[] = {
		{ "busybox", "hub" },
		{ "library/busybox:1", "hub" },
		{ "docker.io/library/busybox@sha256:"
		  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		  "hub" },
		{ "tool", "tool" },
		{ "index.docker.io/library/tool:1", "tool" },
		{ "docker.io/other/tool", "hub" },
		{ "registry.example.com/other/x", "wide" },
		{ "registry.example.com/team/x:1", "team" },
		{ "eu.cloud.example.com:5000/x", "star" },
		{ "eu.cloud.example.com/x", NULL },
		{ "a.b.cloud.example.com:5000/x", NULL },
		{ "quay.example.org/x", NULL },
		{ "localhost/x", NULL },
	};
	CLEANUP(loop_free) struct loop *loop = NULL;
	CLEANUP(pod_unref) struct pod *pod = NULL;
	struct sources *s;

	assert_int_equal(loop_new(&loop, NULL), 0);
	s = sources_new(&(struct sources_opts){ .loop = loop });
	put_secret(s);
	assert_int_equal(pod_parse(str_from(pod_text), &pod, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(arena_release) struct arena a;
		struct runtime_auth auth = { 0 };
		bool found;

		arena_init(&a, 1 << 20);
		found = pull_secrets_find(s, pod, str_from(rows[i].image), &a, &auth);
		assert_int_equal(found, rows[i].user != NULL);
		assert_true(!found || str_eqz(auth.username, rows[i].user));
		assert_true(!found || auth.password.n > 0);
	}
	sources_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_longest_match_is_taken) };

	return cmocka_run_group_tests_name("node/pull_secrets", tests, NULL, NULL);
}
