#!/bin/sh
# threads.sh PROGRAM... - prints those programs, one a line, that may run a second thread or start
# another program. The thread sanitizer looks for races between threads: the others show it nothing.
#
# A program is left out only if both hold. One that cannot be read is kept.
# - It needs none but the libraries below, which start no thread. It must be linked with
#   -Wl,--as-needed: otherwise it needs every library of its layer, and is kept.
# - It refers to no function below, which start a thread or a program, or load code. Check calls
#   timer_create and fork: its timer sends a signal, and a forked process has one thread. If a
#   source of ours names timer_create too, it counts.
set -u
libraries='lib(c|m|gcc_s|tsan|gmp|jansson|cbor|subunit)\.so\.[0-9.]+|ld-linux[^ ]*'
starters='pthread_create|thrd_create|clone[0-9]*|mq_notify|aio_[a-z_0-9]+|lio_listio(64)?|getaddrinfo_a'
starters="$starters|f?exec[a-z]+|posix_spawnp?|popen|system|syscall|dlm?open|dlsym"
grep -rqw timer_create --include='*.[ch]' core proto server tests && starters="$starters|timer_create"

starts_none() { # PROGRAM
    needed=$(readelf -d "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p')
    symbols=$(nm -D "$1" 2>/dev/null | sed 's/@.*//; s/.* //')
    [ -n "$needed" ] && [ -n "$symbols" ] || return 1
    ! printf '%s\n' "$needed" | grep -qvxE "$libraries" && ! printf '%s\n' "$symbols" | grep -qxE "$starters"
}

for program in "$@"; do
    starts_none "$program" || printf '%s\n' "$program"
done
