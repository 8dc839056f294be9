// tracer LOG FOLDER ACTION KINDS N COUNT ERRNO COMMAND...
//
// Runs a command and writes into LOG what it does to the files below FOLDER, in the order in which it happens: every write with its data,
// sync, truncation, opening for writing, rename, link, removal and new folder. What the command writes to its standard output is in the log
// too, so that its place among them is known. It stands between the process and the kernel, so it sees calls of any language.
//
// Beginning with the N-th call of KINDS (letters of the log; '*' is any), and for COUNT calls (0: until the command says "lift"), it does
// ACTION: "fail" the call with ERRNO; "short" writes half; "kill" the process before the call, "half" in the midst of a write; else nothing.
//
// A record: kind, flags (1: an action was done to it), length of path, of other path, of data; offset or size; the call's result; then these,
// with paths as they are in FOLDER.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *output;
static const char *folder, *action, *kinds;
static long first, count, fault, met;
static int lifted;

struct call {
	char kind; // w write, s sync, t truncation, o opening, r rename, l link, u removal, d new folder, m the command's own words
	uint8_t flags;
	char path[PATH_MAX], other[PATH_MAX];
	uint64_t data, size; // of a write; size of a truncation too
	int64_t offset;      // -1: where the file is
	int fd;              // of a write
	int made, emptied;   // of an opening
};

static void die(const char *what) {
	perror(what);
	exit(125);
}

// inside gives what a path is called in the folder.
static const char *inside(const char *path) {
	size_t n = strlen(folder);
	return strncmp(path, folder, n) || (path[n] && path[n] != '/') ? path : path + n + (path[n] == '/');
}

static void put(const struct call *c, const void *data, uint32_t length, int64_t offset, int64_t result) {
	struct { char kind; uint8_t flags; uint16_t path, other; uint32_t data; int64_t offset, result; } __attribute__((packed)) head = {
		c->kind, c->flags, strlen(inside(c->path)), strlen(inside(c->other)), length, offset, result};
	fwrite(&head, sizeof head, 1, output);
	fwrite(inside(c->path), 1, head.path, output);
	fwrite(inside(c->other), 1, head.other, output);
	if (length) fwrite(data, 1, length, output);
}

// copy reads the process's memory; short where it ends.
static ssize_t copy(pid_t pid, uint64_t from, void *to, size_t n) {
	struct iovec here = {to, n}, there = {(void *)from, n};
	return process_vm_readv(pid, &here, 1, &there, 1, 0);
}

static void link_of(pid_t pid, const char *what, char *path) {
	char name[64];
	snprintf(name, sizeof name, "/proc/%d/%s", pid, what);
	ssize_t n = readlink(name, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = 0;
}

static void path_of(pid_t pid, int fd, char *path) {
	char name[32];
	snprintf(name, sizeof name, "fd/%d", fd);
	link_of(pid, name, path);
}

// named resolves a path that the process gives, relative to its folder or to an open one.
static void named(pid_t pid, int at, uint64_t from, char *path) {
	char text[PATH_MAX] = "", base[PATH_MAX];
	for (size_t n = 0; n < sizeof text - 1 && copy(pid, from + n, text + n, 1) == 1 && text[n]; n++)
		;
	if (text[0] == '/') {
		strcpy(path, text);
		return;
	}
	if (at == AT_FDCWD) link_of(pid, "cwd", base);
	else path_of(pid, at, base);
	snprintf(path, PATH_MAX, "%.*s/%.*s", PATH_MAX / 2 - 1, base, PATH_MAX / 2 - 1, text);
}

static int within(const char *path) {
	size_t m = strlen(path);
	return inside(path) != path && !(m > 10 && !strcmp(path + m - 10, " (deleted)"));
}

static void opening(struct call *c, pid_t pid, int at, uint64_t path, int flags) {
	struct stat info;
	named(pid, at, path, c->path);
	c->kind = (flags & (O_CREAT | O_TRUNC)) || (flags & O_ACCMODE) != O_RDONLY ? 'o' : 0;
	c->made = (flags & O_CREAT) && lstat(c->path, &info);
	c->emptied = (flags & O_TRUNC) != 0;
}

// look says what a call does to which file; no kind: nothing that matters.
static void look(pid_t pid, const struct user_regs_struct *r, struct call *c) {
	memset(c, 0, sizeof *c);
	c->offset = -1;
	switch (r->orig_rax) {
	case SYS_pwrite64: c->offset = r->r10; // falls through
	case SYS_write:
		c->kind = (int)r->rdi == 1 ? 'm' : 'w', c->fd = r->rdi, c->data = r->rsi, c->size = r->rdx;
		path_of(pid, c->fd, c->path);
		break;
	case SYS_fsync: case SYS_fdatasync: c->kind = 's', path_of(pid, r->rdi, c->path); break;
	case SYS_ftruncate: c->kind = 't', c->size = r->rsi, path_of(pid, r->rdi, c->path); break;
	case SYS_truncate: c->kind = 't', c->size = r->rsi, named(pid, AT_FDCWD, r->rdi, c->path); break;
	case SYS_open: opening(c, pid, AT_FDCWD, r->rdi, r->rsi); break;
	case SYS_openat: opening(c, pid, r->rdi, r->rsi, r->rdx); break;
	case SYS_mkdir: c->kind = 'd', named(pid, AT_FDCWD, r->rdi, c->path); break;
	case SYS_mkdirat: c->kind = 'd', named(pid, r->rdi, r->rsi, c->path); break;
	case SYS_rmdir: case SYS_unlink: c->kind = 'u', named(pid, AT_FDCWD, r->rdi, c->path); break;
	case SYS_unlinkat: c->kind = 'u', named(pid, r->rdi, r->rsi, c->path); break;
	case SYS_rename: case SYS_link:
		c->kind = r->orig_rax == SYS_link ? 'l' : 'r';
		named(pid, AT_FDCWD, r->rdi, c->path), named(pid, AT_FDCWD, r->rsi, c->other);
		break;
	case SYS_renameat: case SYS_renameat2: case SYS_linkat:
		c->kind = r->orig_rax == SYS_linkat ? 'l' : 'r';
		named(pid, r->rdi, r->rsi, c->path), named(pid, r->rdx, r->r10, c->other);
		break;
	}
	if (c->kind != 'm' && !within(c->path) && !(c->other[0] && within(c->other))) c->kind = 0;
}

// due reports whether the action is to be done to a call.
static int due(const struct call *c) {
	if (c->kind == 'm' || lifted || (*kinds != '*' && !strchr(kinds, c->kind))) return 0;
	met++;
	return met >= first && (!count || met < first + count);
}

// record writes down a call that has returned.
static void record(pid_t pid, struct call *c, int64_t result) {
	char *data = NULL;
	uint32_t length = 0;
	int64_t offset = c->kind == 't' ? (int64_t)c->size : c->offset;
	if ((c->kind == 'w' || c->kind == 'm') && result > 0) {
		if (!(data = malloc(result)) || copy(pid, c->data, data, result) != result) die("read the data of a write");
		length = result;
	}
	if (c->kind == 'w' && c->offset < 0 && result > 0) {
		char name[64];
		snprintf(name, sizeof name, "/proc/%d/fdinfo/%d", pid, c->fd);
		FILE *info = fopen(name, "r");
		if (!info || fscanf(info, "pos: %ld", &offset) != 1) die(name);
		fclose(info);
		offset -= result;
	}
	if (c->kind == 'm' && length >= 4 && !memcmp(data, "lift", 4)) lifted = 1;
	if (c->kind == 'o') offset = c->made | c->emptied << 1;
	put(c, data, length, offset, result);
	free(data);
}

// step lets a stopped call run, or does the action to it, and writes it down. No other call is let run meanwhile, so the log's order is that of
// the kernel.
static void step(pid_t pid) {
	struct user_regs_struct r;
	static struct call c;
	int status, refused = 0;
	if (ptrace(PTRACE_GETREGS, pid, 0, &r)) return;
	look(pid, &r, &c);
	if (!c.kind) return;
	int act = due(&c) && strcmp(action, "none");
	int halved = act && c.kind == 'w' && (*action == 'h' || *action == 's') && c.size > 1;
	int killed = act && (*action == 'h' || *action == 'k');
	c.flags = act;
	if (halved) r.rdx /= 2;
	else if (killed || (act && *action == 'f')) refused = 1, r.orig_rax = -1;
	if (act) ptrace(PTRACE_SETREGS, pid, 0, &r);
	ptrace(PTRACE_SYSCALL, pid, 0, 0);
	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) return;
	if (ptrace(PTRACE_GETREGS, pid, 0, &r)) return;
	if (refused) r.rax = -fault, ptrace(PTRACE_SETREGS, pid, 0, &r);
	record(pid, &c, (int64_t)r.rax);
	if (killed) kill(pid, SIGKILL);
}

// filter stops the calls that change files, and refuses those that would change them unseen; programs do without these.
static void filter(void) {
	static const int seen[] = {SYS_write, SYS_pwrite64, SYS_fsync, SYS_fdatasync, SYS_ftruncate, SYS_truncate, SYS_open, SYS_openat, SYS_mkdir,
		SYS_mkdirat, SYS_rmdir, SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_linkat};
	static const int unseen[] = {SYS_writev, SYS_pwritev, SYS_pwritev2, SYS_copy_file_range, SYS_sendfile, SYS_splice, SYS_fallocate, SYS_creat,
		SYS_symlink, SYS_symlinkat, SYS_openat2, SYS_io_uring_setup};
	struct sock_filter code[128];
	int n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seen[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	}
	for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, unseen[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {n, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) die("seccomp");
}

int main(int argc, char **argv) {
	if (argc < 9) return 124;
	if (!(output = fopen(argv[1], "we"))) die(argv[1]);
	folder = argv[2], action = argv[3], kinds = argv[4], first = atol(argv[5]), count = atol(argv[6]), fault = atol(argv[7]);
	pid_t child = fork(), pid;
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0)) die("ptrace");
		raise(SIGSTOP);
		filter();
		execv(argv[8], argv + 8);
		die(argv[8]);
	}
	int status, end = 0;
	waitpid(child, &status, 0);
	if (ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
		PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL)) die("ptrace");
	ptrace(PTRACE_CONT, child, 0, 0);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			if (pid == child) end = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
			continue;
		}
		int event = status >> 16, signal = WSTOPSIG(status);
		if (event == PTRACE_EVENT_SECCOMP) step(pid);
		ptrace(PTRACE_CONT, pid, 0, event || signal == SIGSTOP || signal == (SIGTRAP | 0x80) || signal == SIGTRAP ? 0 : signal);
	}
	if (fclose(output)) die(argv[1]);
	return end;
}
