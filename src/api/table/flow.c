/*
 * flowcontrol.apiserver.k8s.io.
 */
#include "api/table/column.h"

/* Whether the level that it names is missing. */
void column_flow_dangling(const struct json *object, int64_t now_ns UNUSED, struct buf *out)
{
	const struct json *c = json_find(column_find(object, "status.conditions"), "type",
					 STR("Dangling"));

	column_text(out, c ? json_text_at(c, "status") : STR("?"), "");
}

void column_flow_distinguisher(const struct json *object, int64_t now_ns UNUSED, struct buf *out)
{
	const struct json *by = column_find(object, "spec.distinguisherMethod");

	column_text(out, by ? json_text_at(by, "type") : STR("<none>"), "");
}

/* Prints a number of `of`; "<none>" if that is missing. */
static void flow_number(const struct json *of, const char *name, struct buf *out)
{
	if (of)
		(void)buf_add_i64(out, json_i64_at(of, name, 0));
	else
		column_text(out, STR_NULL, "<none>");
}

void column_flow_shares(const struct json *object, int64_t now_ns UNUSED, struct buf *out)
{
	flow_number(column_find(object, "spec.limited"), "nominalConcurrencyShares", out);
}

void column_flow_queues(const struct json *object, int64_t now_ns UNUSED, struct buf *out)
{
	flow_number(column_find(object, "spec.limited.limitResponse.queuing"), "queues", out);
}

void column_flow_hand(const struct json *object, int64_t now_ns UNUSED, struct buf *out)
{
	flow_number(column_find(object, "spec.limited.limitResponse.queuing"), "handSize", out);
}

void column_flow_length(const struct json *object, int64_t now_ns UNUSED, struct buf *out)
{
	flow_number(column_find(object, "spec.limited.limitResponse.queuing"), "queueLengthLimit",
		    out);
}
