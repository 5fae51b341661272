/*
 * cel-go's encoders. Its base64 decoder accepts more than base64_decode(): line breaks anywhere,
 * missing padding, and any bits after the last byte. The text is normalized first.
 */
#include "base/text/base64.h"
#include "cel/cel_limits.h"
#include "cel/core/json.h"
#include "cel/lib/libraries.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			       "0123456789+/";

static struct cel_value in_scratch(struct cel_eval *ev, const struct buf *b, enum cel_kind kind)
{
	char *p = cel_alloc(ev, b->n);

	if (!p || b->overflow)
		return cel_too_large();
	if (b->n)
		memcpy(p, b->p, b->n);
	return (struct cel_value){ .kind = (uint8_t)kind, .s = str_of(p, b->n) };
}

static struct cel_value encode(struct cel_eval *ev, const struct cel_value *args)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_SCRATCH_MAX);

	(void)base64_encode(&out, args[0].s, BASE64_STD);
	return in_scratch(ev, &out, CEL_STRING);
}

static const char *letter(char c)
{
	return c ? strchr(alphabet, c) : NULL;
}

/* The text without line breaks and padding, in clean. */
static void clean_up(struct str text, struct buf *clean)
{
	size_t padding = 0;

	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != '\r' && text.p[i] != '\n')
			(void)buf_addc(clean, text.p[i]);
	while (padding < 2 && padding < clean->n && clean->p[clean->n - 1 - padding] == '=')
		padding++;
	if (clean->n % 4 == 0)
		clean->n -= padding;
}

/* Clears the unused bits of the last letter, which are ignored. */
static void clear_last_bits(struct buf *clean)
{
	static const int used[] = { 0x3f, 0x3f, 0x30, 0x3c };
	const char *last = clean->n ? letter(clean->p[clean->n - 1]) : NULL;

	if (last)
		clean->p[clean->n - 1] = alphabet[(last - alphabet) & used[clean->n % 4]];
}

/* Returns where Go's decoder fails on a text without padding. */
static size_t first_fault(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!letter(text.p[i]) && text.p[i] != '\r' && text.p[i] != '\n')
			return i;
	return text.n ? text.n - 1 : 0;
}

static struct cel_value encoders_decode(struct cel_eval *ev, const struct cel_value *args)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT(CEL_SCRATCH_MAX);
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_SCRATCH_MAX);

	clean_up(args[0].s, &clean);
	clear_last_bits(&clean);
	if (base64_decode(&out, buf_str(&clean), BASE64_STD_RAW, NULL) == -ERR_BAD_REQUEST)
		return cel_errorf(ev, "illegal base64 data at input byte %zu",
				  first_fault(args[0].s));
	return in_scratch(ev, &out, CEL_BYTES);
}

static struct cel_value encode_json(struct cel_eval *ev, const struct cel_value *args)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_SCRATCH_MAX);
	struct json_writer w;

	json_writer_init(&w, &out, NULL);
	cel_write_json(ev, &args[0], &w);
	(void)json_writer_finish(&w);
	return in_scratch(ev, &out, CEL_STRING);
}

static const struct cel_overload overloads[] = {
	{ "base64.decode",
	  "base64_decode_string",
	  &cel_bytes,
	  { &cel_string },
	  1,
	  false,
	  encoders_decode },
	{ "base64.encode", "base64_encode_bytes", &cel_string, { &cel_bytes }, 1, false, encode },
	{ "json.encode", "json_encode_dyn", &cel_string, { &cel_dyn }, 1, false, encode_json },
};

const struct cel_library cel_lib_encoders = {
	.name = "encoders",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
