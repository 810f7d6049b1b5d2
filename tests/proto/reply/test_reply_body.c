#include "proto/reply/reply_body.h"
#include "tests/proto/written.h"

static void check_members(void (*write)(struct wire_out *out), const char *expected)
{
    struct wire_buf json = {0}, cbor = {0};
    for (int media = WIRE_JSON; media <= WIRE_CBOR; media++) {
        struct wire_out out = wire_out_of(media == WIRE_CBOR ? &cbor : &json, (wire_media)media);
        const wire_out_scope object = wire_out_object(&out);
        write(&out);
        wire_out_object_end(&out, object);
    }
    check_written(NULL, NULL, &json, &cbor, expected);
}

static void write_derived(struct wire_out *out)
{
    wire_out_key(out, "number");
    wire_put_derived_number(out, -0.0);
    wire_out_key(out, "flat");
    wire_put_derived(out, (obb_vec3){-0.0, -1.5, 7.0}, 2);
    wire_out_key(out, "bounds");
    wire_put_bounds(out, &(obb_bounds){.min = {-0.0, -2.0, -3.0}, .max = {0.0, 2.0, 3.0}}, 3);
}

START_TEST(a_computed_zero_has_no_sign)
{
    check_members(write_derived, "{\"number\":0,\"flat\":[0,-1.5],"
                                 "\"bounds\":{\"min\":[0,-2,-3],\"max\":[0,2,3]}}");
}
END_TEST

static void write_pose(struct wire_out *out)
{
    const obb_box box = {.center = {-0.0, 1.0, 9.0},
                         .half_extents = {1.0, 2.0, 9.0},
                         .rotation = {0.0, 0.0, 0.6, 0.8},
                         .angle = -45.0};
    wire_put_pose(out, &box, 2);
}

START_TEST(a_pose_in_the_plane_has_an_angle_and_the_stored_numbers)
{
    check_members(write_pose, "{\"center\":[-0.0,1],\"half_extents\":[1,2],\"angle\":-45}");
}
END_TEST

static void write_attributes(struct wire_out *out)
{
    wire_put_attributes(out, &(obb_attributes){.category = 1, .mask = UINT32_MAX, .group = -1});
    wire_put_truncated(out, false);
    wire_put_count(out, "count", 3);
    wire_put_truncated(out, true);
}

START_TEST(members_that_a_box_lacks_are_left_out)
{
    check_members(write_attributes, "{\"category\":1,\"mask\":4294967295,\"group\":-1,"
                                    "\"count\":3,\"truncated\":true}");
}
END_TEST

static void write_moments(struct wire_out *out)
{
    wire_put_moment(out, (obb_moment){9007199254740993u, -2.5});
    wire_put_named_moment(out, "oldest", (obb_moment){3, 0.0});
    wire_put_settings(out, &(obb_settings){3, 1.5, 4, 10000});
}

START_TEST(moments_have_a_revision_and_a_time)
{
    check_members(write_moments, "{\"revision\":9007199254740993,\"time\":-2.5,"
                                 "\"oldest\":{\"revision\":3,\"time\":0},"
                                 "\"dimensions\":3,"
                                 "\"history\":{\"span\":1.5,\"commits\":4},"
                                 "\"record\":10000}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply_body");
    TCase *tc = tcase_create("reply_body");
    tcase_add_test(tc, a_computed_zero_has_no_sign);
    tcase_add_test(tc, a_pose_in_the_plane_has_an_angle_and_the_stored_numbers);
    tcase_add_test(tc, members_that_a_box_lacks_are_left_out);
    tcase_add_test(tc, moments_have_a_revision_and_a_time);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
