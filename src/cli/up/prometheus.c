/*
 * Pure: prints targets; run.c writes the file.
 */
#include "cli/up/prometheus.h"

#include "base/json/writer.h"
#include "cli/up/roles.h"

static const char *prometheus_role(enum up_kind kind)
{
	static const char *const names[UP_KINDS] = {
		[UP_SERVER] = "server",       [UP_CONTROLLER] = "controller",
		[UP_SCHEDULER] = "scheduler", [UP_NODE] = "node",
		[UP_HOLLOW] = "node",         [UP_DRIVER] = "driver",
	};

	return names[kind];
}

static void prometheus_put(struct json_writer *w, const char *key, const char *value)
{
	json_writer_keyz(w, key);
	json_writer_str(w, str_from(value));
}

static void prometheus_put_target(struct json_writer *w, const struct up_role *r,
				  struct str address)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "targets");
	json_writer_begin_array(w);
	json_writer_str(w, address);
	json_writer_end_array(w);
	json_writer_keyz(w, "labels");
	json_writer_begin_object(w);
	prometheus_put(w, "instance", r->name);
	prometheus_put(w, "role", prometheus_role(r->kind));
	if (r->node && r->kind != UP_HOLLOW)
		prometheus_put(w, "node", r->node);
	json_writer_end_object(w);
	json_writer_end_object(w);
}

void up_prometheus_print(const struct up_target *targets, size_t n, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, &(struct json_style){ .indent = 2 });
	json_writer_begin_array(&w);
	for (size_t i = 0; i < n; i++) {
		ptrdiff_t at = str_find(targets[i].url, STR("://"));

		if (at > 0 && !targets[i].role->program)
			prometheus_put_target(&w, targets[i].role,
					      str_skip(targets[i].url, (size_t)at + 3));
	}
	json_writer_end_array(&w);
	(void)json_writer_finish(&w);
	(void)buf_addc(out, '\n');
}
