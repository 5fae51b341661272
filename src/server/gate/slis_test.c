/*
 * The counts of health checks, as Prometheus reads them.
 */
#include "server/gate/slis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/core/limits.h"

static void checks_are_counted_and_the_last_one_is_shown(void **state)
{
	struct buf text = BUF_INIT(MIB);
	struct slis *s = NULL;

	(void)state;
	assert_int_equal(slis_new(&s, NULL), 0);
	slis_count(s, "etcd", "readyz", true);
	slis_count(s, "etcd", "readyz", true);
	slis_count(s, "etcd", "readyz", false);
	slis_count(s, "ping", "livez", true);
	slis_count(NULL, "ping", "livez", true);
	assert_int_equal(slis_print(s, &text), 0);
	assert_non_null(
		strstr(text.p, "kubernetes_healthcheck{name=\"etcd\",type=\"readyz\"} 0\n"));
	assert_non_null(strstr(text.p, "kubernetes_healthcheck{name=\"ping\",type=\"livez\"} 1\n"));
	assert_non_null(strstr(text.p,
			       "kubernetes_healthchecks_total{name=\"etcd\",type=\"readyz\","
			       "status=\"success\"} 2\n"));
	assert_non_null(strstr(text.p,
			       "kubernetes_healthchecks_total{name=\"etcd\",type=\"readyz\","
			       "status=\"error\"} 1\n"));
	buf_release(&text);
	slis_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_are_counted_and_the_last_one_is_shown),
	};

	return cmocka_run_group_tests_name("server/slis", tests, NULL, NULL);
}
