/* Code of another package that shares its loops among threads: what they add up, and how many threads there were. */
#include <omp.h>

void add_up(int *n, int *sum, int *threads)
{
    int total = 0, used = 1;
#pragma omp parallel reduction(+ : total) num_threads(2)
    {
#pragma omp for
        for (int i = 1; i <= *n; i++)
            total += i;
#pragma omp master
        used = omp_get_num_threads();
    }
    *sum = total;
    *threads = used;
}
