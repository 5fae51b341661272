/*
 * Quotas: "pods: 1/2, requests.cpu: 0/1".
 */
#include "api/quota/amount_list.h"
#include "api/table/column.h"

static void add_quantity(struct buf *text, const struct quantity *q)
{
	static const struct quantity zero;

	(void)quantity_print(q ? *q : zero, text);
}

static void print_names(const struct json *object, bool limits, struct buf *out)
{
	CLEANUP(arena_release) struct arena a;
	struct amount_list hard, used;
	struct buf text = BUF_INIT(CELL_MAX);

	arena_init(&a, SIZE_MAX);
	hard = amount_list_read(&a, column_find(object, "status.hard"));
	used = amount_list_read(&a, column_find(object, "status.used"));
	for (size_t i = 0; i < hard.n; i++) {
		struct str name = hard.v[i].name;

		if (str_starts(name, STR("limits.")) != limits)
			continue;
		(void)buf_printf(&text, "%s%.*s: ", text.n ? ", " : "", STR_ARG(name));
		add_quantity(&text, amount_list_get(&used, name));
		(void)buf_addc(&text, '/');
		add_quantity(&text, &hard.v[i].q);
	}
	column_text(out, buf_str(&text), "");
	buf_release(&text);
}

void column_quota_requests(const struct json *object, int64_t now_ns, struct buf *out)
{
	print_names(object, false, out);
}

void column_quota_limits(const struct json *object, int64_t now_ns, struct buf *out)
{
	print_names(object, true, out);
}
