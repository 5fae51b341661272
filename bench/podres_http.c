/*
 * The least that is a gRPC call: a frame of five zeroes, and a look at the status.
 */
#include "podres_http.h"

#include "grpc/message.h"
#include "load.h"

void podres_http_call(struct http_client *c, const struct grpc_method *m,
		      const struct http_stream_ops *ops, void *data)
{
	static const char empty[GRPC_PREFIX];
	const struct http_field fields[] = {
		HTTP_FIELD("content-type", STR("application/grpc")),
		HTTP_FIELD("te", STR("trailers")),
	};
	struct http_request r = { .method = STR("POST"),
				  .scheme = STR("http"),
				  .authority = STR("localhost"),
				  .target = str_from(m->path),
				  .fields = fields,
				  .nfields = ARRAY_SIZE(fields),
				  .length = -1,
				  .ops = ops,
				  .data = data };
	struct http_stream *s;
	struct error err;

	if (http_client_request(c, &r, &s, &err) < 0)
		load_die(err.msg);
	(void)http_stream_send_copy(s, str_of(empty, sizeof(empty)));
	(void)http_stream_end(s, NULL, 0);
}

bool podres_http_ok(const struct http_stream *s)
{
	return str_eq(http_fields_get(&s->trailers, STR("grpc-status")), STR("0"));
}
