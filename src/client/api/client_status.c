/*
 * Errors reported by the server. The Status' reason decides, because several reasons share an HTTP
 * status (AlreadyExists and Conflict). A reply without a Status, perhaps from a proxy, is
 * classified by its HTTP status.
 */
#include "api/api_limits.h"
#include "base/json/json.h"
#include "client/api/client.h"

static enum error_code code_by(struct str reason, int http_status)
{
	enum error_code by_reason = ERR_OK, by_status = ERR_OK;

	for (int code = ERR_OK + 1; code < ERR_COUNT; code++) {
		bool same_reason = reason.n && str_eqz(reason, error_reason(code));
		bool same_status = error_http_status(code) == http_status;

		if (same_reason && same_status)
			return (enum error_code)code;
		if (same_reason && !by_reason)
			by_reason = (enum error_code)code;
		if (same_status && !by_status)
			by_status = (enum error_code)code;
	}
	if (by_reason)
		return by_reason;
	if (by_status)
		return by_status;
	return http_status >= 400 && http_status < 500 ? ERR_BAD_REQUEST : ERR_INTERNAL;
}

static bool is_too_large(const struct json *status)
{
	const struct json *causes = json_getz(json_getz(status, "details"), "causes");

	JSON_FOREACH (it, causes)
		if (str_eq(json_text_at(it, "reason"), STR("ResourceVersionTooLarge")))
			return true;
	return str_find(json_text_at(status, "message"), STR("Too large resource version")) >= 0;
}

void client_error_of_status(struct str body, int http_status, struct error *ret_err,
			    bool *ret_too_large)
{
	CLEANUP(arena_release) struct arena a;
	struct json *status = NULL;
	struct str message;
	int64_t code;

	arena_init(&a, REQUEST_WORK_MAX);
	if (json_parse(&a, body, NULL, &status, NULL) < 0 ||
	    !str_eq(json_text_at(status, "kind"), STR("Status")))
		status = NULL;
	if (json_i64(json_getz(status, "code"), &code) && code >= 100 && code < 600)
		http_status = (int)code;
	message = json_text_at(status, "message");
	if (ret_too_large)
		*ret_too_large = is_too_large(status);
	if (message.n)
		(void)error_set(ret_err, code_by(json_text_at(status, "reason"), http_status),
				"%.*s", STR_ARG(message));
	else
		(void)error_set(ret_err, code_by(json_text_at(status, "reason"), http_status),
				"the server answered %d %s", http_status,
				http_status_text(http_status));
}

static bool is_within(struct str field, struct str of)
{
	return str_starts(field, of) &&
	       (field.n == of.n || field.p[of.n] == '.' || field.p[of.n] == '[');
}

bool client_answer_has_cause(const struct client_answer *answer, struct str reason)
{
	CLEANUP(arena_release) struct arena a;
	struct json *status;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!answer || json_parse(&a, answer->body, NULL, &status, NULL) < 0)
		return false;
	return json_find(json_getz(json_getz(status, "details"), "causes"), "reason", reason);
}

bool client_answer_blames(const struct client_answer *answer, struct str field)
{
	CLEANUP(arena_release) struct arena a;
	struct json *status;

	arena_init(&a, REQUEST_WORK_MAX);
	if (json_parse(&a, answer->body, NULL, &status, NULL) < 0)
		return false;
	JSON_FOREACH (it, json_getz(json_getz(status, "details"), "causes"))
		if (is_within(json_text_at(it, "field"), field))
			return true;
	return false;
}
