#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/core/limits.h"
#include "base/report/metrics.h"
#include "drivers/nvidia/measure.h"

#define UTILIZATION "devplane_nvidia_utilization_ratio{gpu=\"1\",uuid=\"GPU-b\","
#define NOBODY      "namespace=\"\",claim=\"\",pod=\"\""

struct world {
	struct metrics *metrics;
	struct nvidia_measure *measure;
	struct buf text;
	struct nvml_gpu gpu;
	struct nvml_sample sample;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->metrics = metrics_new();
	w->measure = nvidia_measure_new(w->metrics);
	buf_init(&w->text, MIB);
	w->gpu = (struct nvml_gpu){ .minor = 1, .uuid = STR("GPU-b") };
	w->sample = (struct nvml_sample){ .known = NVML_SAMPLE_UTILIZATION | NVML_SAMPLE_CLOCKS,
					  .utilization = 50,
					  .clock_reasons = NVML_SLOW_HARDWARE };
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	nvidia_measure_free(w->measure);
	metrics_free(w->metrics);
	buf_release(&w->text);
	free(w);
	return 0;
}

static struct gpu_holder holder(const char *claim, const char *device, bool mig)
{
	return (struct gpu_holder){
		.claim = { .ns = STR("team"), .name = str_from(claim), .pod = STR("train-0") },
		.device = device,
		.gpu = STR("GPU-b"),
		.mig = mig,
		.done = true,
		.gi = 3,
	};
}

/* The number of lines that begin like this. */
static size_t lines(struct world *w, const char *begin)
{
	struct str rest, line;
	size_t n = 0;

	buf_clear(&w->text);
	assert_int_equal(metrics_print(w->metrics, &w->text), 0);
	rest = buf_str(&w->text);
	while (str_split(&rest, '\n', &line))
		n += str_starts(line, str_from(begin));
	return n;
}

static void a_gpu_has_no_holder_at_first(void **state)
{
	struct world *w = *state;

	nvidia_measure_gpu(w->measure, &w->gpu, &w->sample);
	assert_int_equal(lines(w, UTILIZATION NOBODY "} 0.5"), 1);
	assert_int_equal(lines(w, "devplane_nvidia_slowdown{gpu=\"1\",uuid=\"GPU-b\"," NOBODY
				  ",reason=\"hardware\"} 1"),
			 1);
}

static void series_of_a_gpu_name_the_claim_that_has_it_alone(void **state)
{
	struct world *w = *state;
	struct gpu_holder h = holder("big", "gpu-1", false);

	nvidia_measure_gpu(w->measure, &w->gpu, &w->sample);
	nvidia_measure_holders(w->measure, &h, 1);
	assert_int_equal(lines(w, UTILIZATION "namespace=\"team\",claim=\"big\",pod=\"train-0\"} "
					      "0.5"),
			 1);
	assert_int_equal(lines(w, UTILIZATION), 1);
	assert_int_equal(lines(w, "devplane_nvidia_slowdown{"), 5);
	assert_int_equal(lines(w, "devplane_nvidia_slowdown{gpu=\"1\",uuid=\"GPU-b\",namespace="
				  "\"team\",claim=\"big\""),
			 5);
	nvidia_measure_holders(w->measure, NULL, 0);
	assert_int_equal(lines(w, UTILIZATION NOBODY "} 0.5"), 1);
	assert_int_equal(lines(w, UTILIZATION), 1);
}

static void claims_that_share_a_gpu_are_not_named(void **state)
{
	struct world *w = *state;
	struct gpu_holder v[] = { holder("one", "gpu-1", false), holder("two", "gpu-1", false) };

	nvidia_measure_holders(w->measure, v, 2);
	nvidia_measure_gpu(w->measure, &w->gpu, &w->sample);
	assert_int_equal(lines(w, UTILIZATION NOBODY), 1);
	assert_int_equal(lines(w, "devplane_nvidia_device_held{"), 2);
	nvidia_measure_holders(w->measure, v, 1);
	assert_int_equal(lines(w, UTILIZATION "namespace=\"team\",claim=\"one\""), 1);
	assert_int_equal(lines(w, UTILIZATION), 1);
}

static void the_holder_of_another_gpu_is_not_named(void **state)
{
	struct world *w = *state;
	struct gpu_holder h = holder("other", "gpu-0", false);

	h.gpu = STR("GPU-a");
	nvidia_measure_holders(w->measure, &h, 1);
	nvidia_measure_gpu(w->measure, &w->gpu, &w->sample);
	assert_int_equal(lines(w, UTILIZATION NOBODY), 1);
}

static void memory_of_a_partition_names_its_claim(void **state)
{
	static const char series[] = "devplane_nvidia_partition_memory_used_bytes{device=\"gpu-1-"
				     "mig\",uuid=\"GPU-b\",namespace=\"team\",claim=\"part\",pod="
				     "\"train-0\"} 768";
	struct world *w = *state;
	struct gpu_holder h = holder("part", "gpu-1-mig", true);
	struct nvml_process v[] = { { .gi = 3, .memory = 512 },
				    { .gi = 4, .memory = 99 },
				    { .gi = 3, .memory = 256 } };

	nvidia_measure_holders(w->measure, &h, 1);
	nvidia_measure_partition(w->measure, &h, v, 3);
	nvidia_measure_gpu(w->measure, &w->gpu, &w->sample);
	assert_int_equal(lines(w, series), 1);
	assert_int_equal(lines(w, UTILIZATION NOBODY), 1);
	nvidia_measure_holders(w->measure, NULL, 0);
	assert_int_equal(lines(w, "devplane_nvidia_partition_memory_used_bytes{"), 0);
}

static void values_that_are_not_known_have_no_series(void **state)
{
	struct world *w = *state;

	nvidia_measure_gpu(w->measure, &w->gpu, &w->sample);
	nvidia_measure_gpu(w->measure, &w->gpu, &(struct nvml_sample){ 0 });
	assert_int_equal(lines(w, "devplane_nvidia_utilization_ratio{"), 0);
	assert_int_equal(lines(w, "devplane_nvidia_slowdown{"), 0);
}

static void a_gpu_with_another_minor_has_one_series(void **state)
{
	struct world *w = *state;

	w->gpu.minor = 0;
	nvidia_measure_gpu(w->measure, &w->gpu, &w->sample);
	w->gpu.minor = 1;
	nvidia_measure_gpu(w->measure, &w->gpu, &w->sample);
	assert_int_equal(lines(w, UTILIZATION NOBODY), 1);
	assert_int_equal(lines(w, "devplane_nvidia_utilization_ratio{"), 1);
}

static void faults_end_with_their_claim(void **state)
{
	static const char name[] = "devplane_nvidia_claim_xids_total{";
	struct world *w = *state;
	struct gpu_holder v[] = { holder("one", "gpu-1", false), holder("two", "gpu-2", false) };

	nvidia_measure_holders(w->measure, v, 2);
	nvidia_measure_fault(w->measure, &v[0], 31);
	nvidia_measure_fault(w->measure, &v[0], 31);
	nvidia_measure_fault(w->measure, &v[1], 43);
	assert_int_equal(lines(w,
			       "devplane_nvidia_claim_xids_total{device=\"gpu-1\",uuid=\"GPU-b\","
			       "namespace=\"team\",claim=\"one\",pod=\"train-0\",xid=\"31\"} 2"),
			 1);
	assert_int_equal(lines(w, name), 2);
	nvidia_measure_holders(w->measure, &v[1], 1);
	assert_int_equal(lines(w, name), 1);
}

static void without_metrics_nothing_happens(void **state)
{
	struct world *w = *state;
	struct gpu_holder h = holder("one", "gpu-1", true);

	nvidia_measure_holders(NULL, &h, 1);
	nvidia_measure_gpu(NULL, &w->gpu, &w->sample);
	nvidia_measure_partition(NULL, &h, NULL, 0);
	nvidia_measure_fault(NULL, &h, 31);
	nvidia_measure_xid(NULL, &w->gpu, 31);
	nvidia_measure_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_gpu_has_no_holder_at_first, setup, teardown),
		cmocka_unit_test_setup_teardown(series_of_a_gpu_name_the_claim_that_has_it_alone,
						setup, teardown),
		cmocka_unit_test_setup_teardown(claims_that_share_a_gpu_are_not_named, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_holder_of_another_gpu_is_not_named, setup,
						teardown),
		cmocka_unit_test_setup_teardown(memory_of_a_partition_names_its_claim, setup,
						teardown),
		cmocka_unit_test_setup_teardown(values_that_are_not_known_have_no_series, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_gpu_with_another_minor_has_one_series, setup,
						teardown),
		cmocka_unit_test_setup_teardown(faults_end_with_their_claim, setup, teardown),
		cmocka_unit_test_setup_teardown(without_metrics_nothing_happens, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
