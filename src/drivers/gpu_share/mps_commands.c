/*
 * The control program prints the percentage that is in force after each change of it. It rejects a
 * wrong one by printing the old one. It accepts any text as a device, so UUIDs must be right.
 */
#include "drivers/gpu_share/mps_commands.h"

#include "base/core/limits.h"
#include "base/json/quantity.h"
#include "base/text/quote.h"

void mps_print_setup(const struct mps_device *devices, size_t n, int32_t threads, bool start_server,
		     struct buf *out)
{
	/* Zero is valid in a config and means nothing to MPS. */
	if (threads > 0)
		(void)buf_printf(out, "set_default_active_thread_percentage %d\n", (int)threads);
	for (size_t i = 0; i < n; i++)
		if (devices[i].memory_mib > 0)
			(void)buf_printf(out, "set_default_device_pinned_mem_limit %s %lldM\n",
					 devices[i].uuid, (long long)devices[i].memory_mib);
	if (start_server)
		(void)buf_addz(out, "start_server -uid 0\n");
	(void)buf_addz(out, "get_default_active_thread_percentage\n");
}

static struct str mps_last_line(struct str text)
{
	struct str line = STR_NULL, piece;

	while (text.n > 0 && str_split(&text, '\n', &piece))
		if (str_trim_space(piece).n > 0)
			line = str_trim_space(piece);
	return line;
}

int mps_check_setup(struct str output, int32_t threads, struct error *err)
{
	struct str line = mps_last_line(output), whole;
	char shown[QUOTE_SIZE];
	uint64_t v;

	if (str_find(output, STR("Unknown command")) >= 0 ||
	    str_find(output, STR("Not enough privilege")) >= 0)
		return error_set(err, ERR_IO, "MPS rejects a command: %s",
				 quote_text(str_cut(str_trim_space(output), 200), shown));
	if (!str_split(&line, '.', &whole) || !str_to_u64(whole, &v))
		return error_set(err, ERR_IO, "MPS gave an unexpected answer: %s",
				 quote_text(str_cut(str_trim_space(output), 200), shown));
	if (threads > 0 && v != (uint64_t)threads)
		return error_set(
			err, ERR_IO,
			"MPS did not accept %d percent of the threads; %llu percent are in "
			"force",
			(int)threads, (unsigned long long)v);
	return 0;
}

int mps_memory_of(struct str quantity, int64_t *ret_mib, struct error *err)
{
	struct quantity q;
	int r = quantity_parse(quantity, &q, err);

	if (r < 0)
		return error_wrap(err, r, "memory");
	if (quantity_value(q) < (int64_t)MIB)
		return error_set(err, ERR_INVALID, "memory: must be at least 1Mi");
	*ret_mib = quantity_value(q) / (int64_t)MIB;
	return 0;
}

/* "0=2048M,2=1024M"; NULL: no limits. */
static const char *mps_env_limits(struct arena *a, const struct mps_device *devices, size_t n)
{
	const char *text = NULL;

	for (size_t i = 0; i < n; i++)
		if (devices[i].memory_mib > 0)
			text = arena_printf(a, "%s%s%zu=%lldM",
					    text ? text : "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=",
					    text ? "," : "", i, (long long)devices[i].memory_mib);
	return text;
}

const char *const *mps_container_env(struct arena *a, const struct mps_device *devices, size_t n,
				     int32_t threads)
{
	const char **env = ARENA_ARRAY(a, const char *, 4);
	size_t count = 0;

	env[count++] = "CUDA_MPS_PIPE_DIRECTORY=" MPS_CONTAINER_PIPE;
	env[count] = mps_env_limits(a, devices, n);
	if (env[count])
		count++;
	if (threads > 0)
		env[count++] = arena_printf(a, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%d",
					    (int)threads);
	return env;
}
