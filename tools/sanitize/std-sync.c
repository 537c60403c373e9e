/*
 * For ThreadSanitizer, what it cannot see of Rust's standard library, which comes compiled without it: that a thread
 * which got a lock comes after the thread that gave it up. Without this it takes every contended lock for a race.
 *
 * The linker's --wrap sends calls of these functions here; tools/sanitize.sh finds their mangled names (LOCK, READ,
 * WRITE, WAIT, WAIT_TIMEOUT, ONCE). All arguments are words or fit in one, so Rust's calling convention for them is
 * C's. What is inlined into instrumented code (locks that are free, atomics) it sees by itself. Nothing is suppressed
 * here: only order that there is, is told.
 */
#include <stdint.h>

#define JOIN(a, b) a##b
#define WRAP(name) JOIN(__wrap_, name)
#define REAL(name) JOIN(__real_, name)

void __tsan_acquire(void *at);
void __tsan_release(void *at);

/* Mutex::lock_contended(&self) */
void REAL(LOCK)(void *mutex);
void WRAP(LOCK)(void *mutex) {
  REAL(LOCK)(mutex);
  __tsan_acquire(mutex);
}

/* RwLock::read_contended(&self), RwLock::write_contended(&self). Of its two words, one is what a thread gives up. */
static void acquire_either(char *rwlock) {
  __tsan_acquire(rwlock);
  __tsan_acquire(rwlock + sizeof(uint32_t));
}

void REAL(READ)(void *rwlock);
void WRAP(READ)(void *rwlock) {
  REAL(READ)(rwlock);
  acquire_either(rwlock);
}

void REAL(WRITE)(void *rwlock);
void WRAP(WRITE)(void *rwlock) {
  REAL(WRITE)(rwlock);
  acquire_either(rwlock);
}

/* Condvar::wait(&self, &Mutex): gives the lock up, and gets it again */
void REAL(WAIT)(void *condvar, void *mutex);
void WRAP(WAIT)(void *condvar, void *mutex) {
  __tsan_release(mutex);
  REAL(WAIT)(condvar, mutex);
  __tsan_acquire(mutex);
}

/* Condvar::wait_timeout(&self, &Mutex, Duration) -> bool */
_Bool REAL(WAIT_TIMEOUT)(void *condvar, void *mutex, uint64_t seconds, uint32_t nanoseconds);
_Bool WRAP(WAIT_TIMEOUT)(void *condvar, void *mutex, uint64_t seconds, uint32_t nanoseconds) {
  __tsan_release(mutex);
  _Bool in_time = REAL(WAIT_TIMEOUT)(condvar, mutex, seconds, nanoseconds);
  __tsan_acquire(mutex);
  return in_time;
}

/* Once::call(&self, ignore_poisoning: bool, &mut dyn FnMut) */
void REAL(ONCE)(void *once, _Bool ignore_poisoning, void *closure, void *vtable, void *caller);
void WRAP(ONCE)(void *once, _Bool ignore_poisoning, void *closure, void *vtable, void *caller) {
  REAL(ONCE)(once, ignore_poisoning, closure, vtable, caller);
  __tsan_release(once);
  __tsan_acquire(once);
}

/*
 * A fence orders the last drop of an Arc after the others, and ThreadSanitizer does not know fences (its own build of
 * the standard library has a load instead). So each decrement of a count also acquires those before it.
 */
enum { RELEASE = 3, ACQ_REL = 4 };
uint64_t __real___tsan_atomic64_fetch_sub(volatile uint64_t *at, uint64_t n, int order);
uint64_t __wrap___tsan_atomic64_fetch_sub(volatile uint64_t *at, uint64_t n, int order) {
  return __real___tsan_atomic64_fetch_sub(at, n, order == RELEASE ? ACQ_REL : order);
}
