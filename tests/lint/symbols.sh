#!/bin/sh
# symbols.sh LIBOBB LIBWIRE - checks the symbols that the archives need from outside and give. core
# computes only: it needs no files, clocks, threads, locale or randomness, and of libm only
# functions that IEEE 754 rounds the same everywhere. proto knows no server and no network. Names
# carry the prefix of their layer, and there is no mutable data. Four exceptions, all of core: a query
# whose index another one builds pauses with nanosleep (core/scene/motion.c), each thread has a
# trash of large blocks that it has freed (core/base/trash.c), the process has a stock of such blocks
# (core/base/stock.c), and large blocks that are filled at once look for their pages with mincore and
# ask for them with madvise (core/base/alloc.c).
set -u
libobb=$1 libwire=$2
looked=0 bad=0

undefined() { # ARCHIVE: prints the symbols that it needs and does not define
    nm "$1" | awk 'NF == 2 && $1 == "U" { need[$2] } NF == 3 { have[$3] } END { for (s in need) if (!(s in have)) print s }' | sort
}

allowed='^(malloc|calloc|realloc|free|aligned_alloc|mem(cpy|set|move|cmp|chr)|__mem(cpy|set|move)_chk|str(len|ncmp|cmp)|qsort|bsearch|nanosleep|malloc_usable_size|madvise|mincore)$
^(sqrt|sqrtf|floor|floorf|ceil|ceilf|fmod|trunc|rint|nearbyint|nextafter|frexp|ldexp|scalbn|fmin|fmax)$
^(__popcountdi2|__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__cpu_indicator_init|__cpu_model|getauxval|__tls_get_addr)$
^(__(asan|tsan|ubsan|sanitizer|gcov)_|_?__sanitizer|llvm_)'
for symbol in $(undefined "$libobb"); do
    looked=$((looked + 1))
    printf '%s\n' "$symbol" | grep -qE "$allowed" || {
        echo "$libobb needs $symbol"
        bad=$((bad + 1))
    }
done
for symbol in $(undefined "$libwire"); do
    looked=$((looked + 1))
    case $symbol in srv_* | MHD_* | uv_* | socket | open | fopen | read | write | clock_gettime | pthread_* | time | getenv)
        echo "$libwire needs $symbol"
        bad=$((bad + 1))
        ;;
    esac
done
for archive in "$libobb" "$libwire"; do
    # a prefix shows the layer of a name wherever it is used
    case $archive in *libobb*) prefix=obb_ ;; *) prefix=wire_ ;; esac
    for symbol in $(nm "$archive" | awk 'NF == 3 && $2 ~ /[TDBR]/ { print $3 }'); do
        looked=$((looked + 1))
        case $symbol in "$prefix"* | __asan_* | __odr_asan*) ;; *)
            echo "$archive gives $symbol, which has no prefix $prefix"
            bad=$((bad + 1))
            ;;
        esac
    done
done
# mutable data would be a global variable
for archive in "$libobb" "$libwire"; do
    for symbol in $(nm "$archive" | awk 'NF == 3 && $2 ~ /[dDbBC]/ && $3 !~ /^(__|\.)/ { print $3 }'); do
        case $symbol in *.rel.ro* | trash | stock) continue ;; esac
        nm -A "$archive" | grep -q " [bBC] $symbol\$" || continue
        echo "$archive holds mutable $symbol"
        bad=$((bad + 1))
    done
done
echo "check-symbols: looked at $looked symbols, $bad breaches"
[ "$looked" -gt 0 ] && [ "$bad" -eq 0 ]
