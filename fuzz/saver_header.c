/*
 * Any bytes as a state file. An accepted file is, byte for byte, what the saver writes for that
 * body. A rejected one has an error message.
 */
#include "base/core/limits.h"
#include "node/host/saver_header.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_release) struct buf again = BUF_INIT(64 * MIB);
	struct str content = str_of(data, size), body = STR_NULL;
	struct error err = { 0 };

	if (saver_header_check(content, "health", 1, &body, &err) == 0) {
		require(saver_header_add(&again, "health", 1, body) == 0);
		require(buf_add_str(&again, body) == 0);
		require(str_eq(buf_str(&again), content));
	} else {
		require(err.code == ERR_CONFLICT && err.msg[0]);
	}
	return 0;
}
