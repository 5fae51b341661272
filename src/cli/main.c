/*
 * The program's entry: prepares the process and runs the command table.
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/program/cli.h"

/*
 * If a standard stream is closed, the first file or socket opened would get its number, and
 * messages would be written into it. So it is replaced by the null device, opened in the wrong
 * direction, so that using the stream is still an error.
 */
static void hold_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	struct cli cli;

	hold_standard_streams();
	/* A lost peer or pipe is an error of the write, and does not kill us. */
	(void)signal(SIGPIPE, SIG_IGN);
	cli_init(&cli, stdout, stderr);
	return cli_main(&cli, &commands_root, argc, argv);
}
