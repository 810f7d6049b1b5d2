#include "tests/bench/service/copies.h"

#include "tests/bench/service/scene.h"

#include <stdio.h>
#include <string.h>

enum { BOXES = 100000, PATIENCE = 60 };
#define SECONDS 4.0 /* of commits beside copies */
#define SOURCE  "source"

static const char json[] = "application/json";

static load_request copy_to(const char *name, bool replace)
{
    char body[96];
    (void)snprintf(body, sizeof body, "{\"to\":\"%s\",\"replace\":%s}", name,
                   replace ? "true" : "false");
    return meter_request(SOURCE, "copy", json, body, strlen(body));
}

static void delete_scene(bench_meter *meter, const char *name)
{
    char path[96];
    (void)snprintf(path, sizeof path, "/v1/scenes/%s", name);
    load_request request = load_request_make("DELETE", path, NULL, NULL, NULL, 0);
    (void)meter_drop(meter, &request);
    load_request_free(&request);
}

static double measure_copies(bench_meter *meter, const bench_scene *scene, int rounds)
{
    double copied[METER_ROUNDS], imported[METER_ROUNDS];
    load_request copy = copy_to("copied", false), import = scene_import(scene, "imported");
    for (int i = -1; i < rounds; i++) { /* the first round warms up */
        const double a = meter_drop(meter, &copy), b = meter_drop(meter, &import);
        if (i >= 0) {
            copied[i] = a;
            imported[i] = b;
        } else {
            const long long pairs = meter_pairs(meter, SOURCE);
            meter->failures += pairs == 0 || meter_pairs(meter, "copied") != pairs ||
                               meter_pairs(meter, "imported") != pairs;
        }
        delete_scene(meter, "copied");
        delete_scene(meter, "imported");
    }
    const double a = meter_median(copied, rounds), b = meter_median(imported, rounds);
    (void)printf("copy of %d boxes: %.1f ms of CPU, import of them %.1f ms; ratio %.2f\n", BOXES, a,
                 b, a / b);
    load_request_free(&copy);
    load_request_free(&import);
    return a / b;
}

/* Commits of one box every millisecond or two, alone and then beside copies without pause. Returns
 * the p99 of the latter in milliseconds. */
static double measure_commits(bench_meter *meter, const bench_scene *scene)
{
    static const char *const bodies[] = {"{\"pose\":{\"box-1\":{\"center\":[0,0,1]}}}",
                                         "{\"pose\":{\"box-1\":{\"center\":[0,0,2]}}}"};
    static load_group groups[2]; /* their histograms are large */
    load_request commits[2], copy = copy_to("beside", true);
    double p99 = 0;
    for (int i = 0; i < 2; i++)
        commits[i] = meter_request(scene->name, "commit", json, bodies[i], strlen(bodies[i]));
    for (size_t count = 1; count <= 2; count++) {
        groups[0] = (load_group){.address = meter->obbd->tcp,
                                 .requests = commits,
                                 .request_count = 2,
                                 .connections = 1,
                                 .gap_us = 1000};
        groups[1] = (load_group){
            .address = meter->obbd->tcp, .requests = &copy, .request_count = 1, .connections = 1};
        const double took = load_run(groups, count, SECONDS, PATIENCE);
        meter->failures += took < 0;
        for (size_t i = 0; i < count; i++) {
            meter->checked += (size_t)groups[i].answers;
            meter->failures += groups[i].wrong > 0 || groups[i].answers == 0;
        }
        p99 = load_quantile(&groups[0], 0.99) * 1e3;
        (void)printf("one-box commits %s copies of %d boxes: p50 %.3f ms, p99 %.3f ms, %llu "
                     "commits, %llu copies\n",
                     count == 1 ? "without" : "beside", BOXES, load_quantile(&groups[0], 0.5) * 1e3,
                     p99, (unsigned long long)groups[0].answers,
                     (unsigned long long)groups[1].answers);
    }
    load_request_free(&copy);
    for (int i = 0; i < 2; i++)
        load_request_free(&commits[i]);
    return p99;
}

struct copies_figures copies_measure(bench_meter *meter, int rounds)
{
    bench_scene scene;
    size_t count;
    scene_make(&scene, SOURCE, BOXES);
    load_request *puts = scene_puts(&scene, BOXES, &count);
    (void)meter_drop(meter, &puts[0]);
    load_request_free(&puts[0]);
    free(puts);
    struct copies_figures figures;
    figures.copy = measure_copies(meter, &scene, rounds);
    figures.commit = measure_commits(meter, &scene);
    scene_free(&scene);
    return figures;
}
