/*
 * The output is compared as a whole: order, escaping and the form of numbers
 * are the contract with whoever scrapes it.
 */
#include "base/report/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/queue.h"

static const char *const verb_code[] = { "verb", "code" };

static struct metrics_family *family(struct metrics *m, const struct metrics_spec *spec)
{
	struct metrics_family *f = NULL;
	struct error err;

	if (metrics_register(m, spec, &f, &err) != 0)
		fail_msg("%s", err.msg);
	return f;
}

static void check_output(struct metrics *m, const char *expected)
{
	struct buf out = BUF_INIT(1 * MIB);

	assert_int_equal(metrics_print(m, &out), 0);
	assert_string_equal(out.p ? out.p : "", expected);
	buf_release(&out);
}

static void an_empty_registry_prints_nothing(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();

	check_output(m, "");
	metrics_free(NULL);
}

static void counters_and_gauges_are_printed_in_order(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_family *requests = family(m,
						 &(struct metrics_spec){ .name = "requests_total",
									 .help = "Requests.",
									 .type = METRICS_COUNTER,
									 .labels = verb_code,
									 .labels_n = 2 });
	struct metrics_family *depth = family(
		m,
		&(struct metrics_spec){ .name = "depth", .help = "Depth.", .type = METRICS_GAUGE });

	metrics_counter_add(metrics_counter(requests, STR("GET"), STR("404")), 2);
	metrics_counter_add(metrics_counter(requests, STR("GET"), STR("200")), UINT64_MAX);
	metrics_counter_add(metrics_counter(requests, STR("DELETE"), STR("200")), 1);
	metrics_counter_add_f64(metrics_counter(requests, STR("DELETE"), STR("200")), 0.25);
	metrics_gauge_set(metrics_gauge(depth), 10);
	metrics_gauge_add(metrics_gauge(depth), -12.5);
	check_output(m, "# HELP depth Depth.\n"
			"# TYPE depth gauge\n"
			"depth -2.5\n"
			"# HELP requests_total Requests.\n"
			"# TYPE requests_total counter\n"
			"requests_total{verb=\"DELETE\",code=\"200\"} 1.25\n"
			"requests_total{verb=\"GET\",code=\"200\"} 18446744073709551615\n"
			"requests_total{verb=\"GET\",code=\"404\"} 2\n");
}

static void histograms_are_cumulative(void **state)
{
	static const double bounds[] = { 0.005, 0.1, 2.5 };
	static const char *const labels[] = { "verb" };
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_family *f = family(m, &(struct metrics_spec){ .name = "seconds",
								     .help = "Time.",
								     .type = METRICS_HISTOGRAM,
								     .labels = labels,
								     .labels_n = 1,
								     .bounds = bounds,
								     .bounds_n = 3 });
	struct metrics_histogram *h = metrics_histogram(f, STR("GET"));

	metrics_histogram_observe(h, 0.001);
	metrics_histogram_observe(h, 0.005); /* a bound belongs to its bucket */
	metrics_histogram_observe(h, 0.006);
	metrics_histogram_observe(h, 2.5);
	metrics_histogram_observe(h, 1000);
	check_output(m, "# HELP seconds Time.\n"
			"# TYPE seconds histogram\n"
			"seconds_bucket{verb=\"GET\",le=\"0.005\"} 2\n"
			"seconds_bucket{verb=\"GET\",le=\"0.1\"} 3\n"
			"seconds_bucket{verb=\"GET\",le=\"2.5\"} 4\n"
			"seconds_bucket{verb=\"GET\",le=\"+Inf\"} 5\n"
			"seconds_sum{verb=\"GET\"} 1002.512\n"
			"seconds_count{verb=\"GET\"} 5\n");
}

static void a_histogram_without_labels_has_only_le(void **state)
{
	static const double bounds[] = { 1 };
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_family *f = family(m, &(struct metrics_spec){ .name = "h",
								     .help = "H.",
								     .type = METRICS_HISTOGRAM,
								     .bounds = bounds,
								     .bounds_n = 1 });

	metrics_histogram_observe(metrics_histogram(f), NAN);
	check_output(m, "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"1\"} 0\n"
			"h_bucket{le=\"+Inf\"} 1\nh_sum NaN\nh_count 1\n");
}

static void help_and_label_values_are_escaped(void **state)
{
	static const char *const labels[] = { "path" };
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_family *f = family(
		m, &(struct metrics_spec){ .name = "x",
					   .help = "A \"quoted\"\nline \\ two",
					   .type = METRICS_COUNTER,
					   .labels = labels,
					   .labels_n = 1 });

	metrics_counter_add(metrics_counter(f, STR("a\"b\\c\nd")), 1);
	metrics_counter_add(metrics_counter(f, STR("bad\xff")), 2);
	metrics_counter_add(metrics_counter(f, STR("")), 3);
	check_output(m, "# HELP x A \"quoted\"\\nline \\\\ two\n"
			"# TYPE x counter\n"
			"x{path=\"\"} 3\n"
			"x{path=\"a\\\"b\\\\c\\nd\"} 1\n"
			"x{path=\"bad\xef\xbf\xbd\"} 2\n");
}

static double fetch(void *ctx)
{
	return ++*(double *)ctx;
}

static void callbacks_are_asked_when_printing(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_family *f = family(
		m, &(struct metrics_spec){ .name = "g", .help = "G.", .type = METRICS_GAUGE });
	double value = 40;

	metrics_callback(f, fetch, &value);
	check_output(m, "# HELP g G.\n# TYPE g gauge\ng 41\n");
	check_output(m, "# HELP g G.\n# TYPE g gauge\ng 42\n");
}

static void equal_values_give_one_series_and_no_others(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_family *f = family(m, &(struct metrics_spec){ .name = "c",
								     .help = "",
								     .type = METRICS_COUNTER,
								     .labels = verb_code,
								     .labels_n = 2 });

	assert_ptr_equal(metrics_counter(f, STR("a"), STR("b")),
			 metrics_counter(f, STR("a"), STR("b")));
	/* Joining the values without quotes would make these the same. */
	assert_ptr_not_equal(metrics_counter(f, STR("a\",code=\"b"), STR("c")),
			     metrics_counter(f, STR("a"), STR("b\",code=\"c")));
	assert_ptr_not_equal(metrics_counter(f, STR("ab"), STR("")),
			     metrics_counter(f, STR("a"), STR("b")));
}

static void a_counter_without_labels_has_one_series(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_counter *c = metrics_counter_alone(m, "n_total", "N.");

	assert_ptr_equal(metrics_counter_alone(m, "n_total", "N."), c);
	metrics_counter_add(c, 2);
	check_output(m, "# HELP n_total N.\n# TYPE n_total counter\nn_total 2\n");
	(void)family(m, &(struct metrics_spec){ .name = "g", .help = "G.", .type = METRICS_GAUGE });
	assert_null(metrics_counter_alone(m, "g", "G."));
	assert_null(metrics_counter_alone(NULL, "n_total", "N."));
}

static void long_label_values_are_cut(void **state)
{
	static const char *const labels[] = { "l" };
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_family *f = family(m, &(struct metrics_spec){ .name = "c",
								     .help = "",
								     .type = METRICS_COUNTER,
								     .labels = labels,
								     .labels_n = 1 });
	char value[METRICS_LABEL_VALUE_MAX + 10];

	memset(value, 'x', sizeof(value));
	assert_ptr_equal(metrics_counter(f, str_of(value, sizeof(value))),
			 metrics_counter(f, str_of(value, METRICS_LABEL_VALUE_MAX)));
}

static void too_many_series_share_one_called_other(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_family *f = family(m, &(struct metrics_spec){ .name = "c",
								     .help = "",
								     .type = METRICS_COUNTER,
								     .labels = verb_code,
								     .labels_n = 2 });
	struct buf out = BUF_INIT(8 * MIB);
	struct metrics_counter *first = NULL;
	char value[16];

	for (int i = 0; i < METRICS_SERIES_MAX + 5; i++) {
		int n = snprintf(value, sizeof(value), "%d", i);
		struct metrics_counter *c = metrics_counter(f, str_of(value, (size_t)n), STR("x"));

		metrics_counter_add(c, 1);
		first = i == 0 ? c : first;
	}
	assert_ptr_equal(metrics_counter(f, STR("0"), STR("x")), first);
	assert_int_equal(metrics_print(m, &out), 0);
	assert_non_null(strstr(out.p, "c{verb=\"other\",code=\"other\"} 5\n"));
	assert_non_null(strstr(out.p, "c{verb=\"9999\",code=\"x\"} 1\n"));
	assert_null(strstr(out.p, "c{verb=\"10000\",code=\"x\"}"));
	buf_release(&out);
}

static void a_removed_series_is_not_printed_and_starts_anew(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_family *f = family(m, &(struct metrics_spec){ .name = "g",
								     .help = "",
								     .type = METRICS_GAUGE,
								     .labels = verb_code,
								     .labels_n = 2 });

	metrics_gauge_add(metrics_gauge(f, STR("a"), STR("x")), 1);
	metrics_gauge_add(metrics_gauge(f, STR("b"), STR("x")), 2);
	metrics_remove(f, STR("a"), STR("x"));
	metrics_remove(f, STR("never"), STR("x"));
	check_output(m, "# HELP g \n# TYPE g gauge\ng{verb=\"b\",code=\"x\"} 2\n");
	metrics_gauge_add(metrics_gauge(f, STR("a"), STR("x")), 3);
	check_output(m, "# HELP g \n# TYPE g gauge\ng{verb=\"a\",code=\"x\"} 3\n"
			"g{verb=\"b\",code=\"x\"} 2\n");
}

static void the_same_shape_gives_the_same_family_and_another_fails(void **state)
{
	static const double bounds[] = { 1, 2 }, other_bounds[] = { 1, 3 };
	static const char *const other_labels[] = { "verb", "status" };
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_spec spec = { .name = "h",
				     .help = "H.",
				     .type = METRICS_HISTOGRAM,
				     .labels = verb_code,
				     .labels_n = 2,
				     .bounds = bounds,
				     .bounds_n = 2 };
	struct metrics_family *f = family(m, &spec), *again = NULL;
	struct metrics_spec other = spec;

	other.help = "Said otherwise.";
	assert_ptr_equal(family(m, &other), f);
	other.labels = other_labels;
	assert_int_equal(metrics_register(m, &other, &again, NULL), -ERR_CONFLICT);
	other = spec;
	other.bounds = other_bounds;
	assert_int_equal(metrics_register(m, &other, &again, NULL), -ERR_CONFLICT);
	other = (struct metrics_spec){ .name = "h", .help = "", .type = METRICS_GAUGE };
	assert_int_equal(metrics_register(m, &other, &again, NULL), -ERR_CONFLICT);
	assert_null(again);
}

static void malformed_specs_are_refused(void **state)
{
	static const char *const names[] = { "", "1a", "a-b", "a b", "caf\xc3\xa9", "a\n" };
	static const char *const labels[][2] = {
		{ "", "a" }, { "1", "a" }, { "a:b", "a" }, { "__name", "a" }, { "a", "a" },
	};
	static const double falling[] = { 2, 1 }, equal[] = { 1, 1 }, endless[] = { 1, INFINITY };
	static const double *const bounds[] = { falling, equal, endless };
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct metrics_spec spec = { .help = "", .type = METRICS_COUNTER };
	struct metrics_family *f = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		spec.name = names[i];
		assert_int_equal(metrics_register(m, &spec, &f, NULL), -ERR_INVALID);
	}
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		spec = (struct metrics_spec){ .name = "x", .labels = labels[i], .labels_n = 2 };
		assert_int_equal(metrics_register(m, &spec, &f, NULL), -ERR_INVALID);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
		spec = (struct metrics_spec){
			.name = "x", .type = METRICS_HISTOGRAM, .bounds = bounds[i], .bounds_n = 2
		};
		assert_int_equal(metrics_register(m, &spec, &f, NULL), -ERR_INVALID);
	}
	spec = (struct metrics_spec){ .name = "x", .type = METRICS_HISTOGRAM };
	assert_int_equal(metrics_register(m, &spec, &f, NULL), -ERR_INVALID);
	assert_null(f);
	check_output(m, "");
}

static void printing_stops_at_the_limit(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct buf out = BUF_INIT(20);

	(void)metrics_counter(family(m, &(struct metrics_spec){ .name = "c", .help = "Counts." }));
	assert_int_equal(metrics_print(m, &out), -ERR_TOO_LARGE);
	buf_release(&out);
}

enum { THREADS = 4, ROUNDS = 5000 };

struct contended {
	struct metrics *m;
	struct metrics_family *counters, *gauges, *histograms;
	int printed;
};

static void count_everything(void *arg)
{
	struct contended *c = arg;
	char value[16];

	for (int i = 0; i < ROUNDS; i++) {
		int n = snprintf(value, sizeof(value), "%d", i % 50);

		metrics_counter_add(metrics_counter(c->counters, str_of(value, (size_t)n)), 1);
		metrics_gauge_add(metrics_gauge(c->gauges), 0.5);
		metrics_histogram_observe(metrics_histogram(c->histograms), i);
	}
}

static void print_repeatedly(void *arg)
{
	struct contended *c = arg;
	struct buf out = BUF_INIT(1 * MIB);

	for (int i = 0; i < 50; i++) {
		buf_clear(&out);
		c->printed += metrics_print(c->m, &out) == 0;
	}
	buf_release(&out);
}

static void add_and_remove(void *arg)
{
	struct contended *c = arg;

	for (int i = 0; i < ROUNDS; i++) {
		metrics_gauge_add(metrics_gauge(c->gauges, STR("a"), STR("x")), 1);
		metrics_remove(c->gauges, STR("a"), STR("x"));
	}
}

static void a_series_may_be_removed_while_it_is_printed(void **state)
{
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct contended c = { .m = m };
	struct thread remover, printer;

	c.gauges = family(m, &(struct metrics_spec){ .name = "g",
						     .type = METRICS_GAUGE,
						     .labels = verb_code,
						     .labels_n = 2 });
	assert_int_equal(thread_start(&remover, "remove", add_and_remove, &c, NULL), 0);
	assert_int_equal(thread_start(&printer, "print", print_repeatedly, &c, NULL), 0);
	thread_join(&remover);
	thread_join(&printer);
	assert_int_equal(c.printed, 50);
	check_output(m, "# HELP g \n# TYPE g gauge\n");
}

static void threads_lose_no_counts(void **state)
{
	static const double bounds[] = { ROUNDS * 0.5 };
	static const char *const labels[] = { "l" };
	CLEANUP(metrics_free) struct metrics *m = metrics_new();
	struct contended c = { .m = m };
	struct thread threads[THREADS], printer;
	struct buf out = BUF_INIT(1 * MIB);

	c.counters = family(
		m, &(struct metrics_spec){
			   .name = "c", .type = METRICS_COUNTER, .labels = labels, .labels_n = 1 });
	c.gauges = family(m, &(struct metrics_spec){ .name = "g", .type = METRICS_GAUGE });
	c.histograms = family(m, &(struct metrics_spec){ .name = "h",
							 .type = METRICS_HISTOGRAM,
							 .bounds = bounds,
							 .bounds_n = 1 });
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(thread_start(&threads[i], "count", count_everything, &c, NULL), 0);
	assert_int_equal(thread_start(&printer, "print", print_repeatedly, &c, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		thread_join(&threads[i]);
	thread_join(&printer);
	assert_int_equal(c.printed, 50);
	assert_int_equal(metrics_print(m, &out), 0);
	assert_non_null(strstr(out.p, "c{l=\"49\"} 400\n"));
	assert_non_null(strstr(out.p, "g 10000\n"));
	assert_non_null(strstr(out.p, "h_bucket{le=\"2500\"} 10004\n"));
	assert_non_null(strstr(out.p, "h_count 20000\n"));
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_registry_prints_nothing),
		cmocka_unit_test(counters_and_gauges_are_printed_in_order),
		cmocka_unit_test(histograms_are_cumulative),
		cmocka_unit_test(a_histogram_without_labels_has_only_le),
		cmocka_unit_test(help_and_label_values_are_escaped),
		cmocka_unit_test(callbacks_are_asked_when_printing),
		cmocka_unit_test(equal_values_give_one_series_and_no_others),
		cmocka_unit_test(a_counter_without_labels_has_one_series),
		cmocka_unit_test(long_label_values_are_cut),
		cmocka_unit_test(too_many_series_share_one_called_other),
		cmocka_unit_test(a_removed_series_is_not_printed_and_starts_anew),
		cmocka_unit_test(the_same_shape_gives_the_same_family_and_another_fails),
		cmocka_unit_test(malformed_specs_are_refused),
		cmocka_unit_test(printing_stops_at_the_limit),
		cmocka_unit_test(a_series_may_be_removed_while_it_is_printed),
		cmocka_unit_test(threads_lose_no_counts),
	};

	return cmocka_run_group_tests_name("base/metrics", tests, NULL, NULL);
}
