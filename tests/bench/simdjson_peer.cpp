#include "tests/bench/simdjson_peer.h"

#include <cmath>
#include <simdjson.h>

using namespace simdjson;

static ondemand::parser reader;
static dom::parser builder;

double simdjson_peer_sum(const char *bytes, size_t length)
{
    double sum = 0.0;
    try {
        ondemand::document document =
            reader.iterate(padded_string_view(bytes, length, length + SIMDJSON_PADDING));
        for (auto member : document["put"].get_object()) {
            sum += static_cast<double>(std::string_view(member.unescaped_key()).size());
            for (auto field : member.value().get_object())
                for (double number : field.value().get_array())
                    sum += number;
        }
        return sum;
    } catch (const simdjson_error &) {
        return NAN;
    }
}

size_t simdjson_peer_tree(const char *bytes, size_t length)
{
    try {
        dom::element document = builder.parse(bytes, length, false);
        return document["put"].get_object().size();
    } catch (const simdjson_error &) {
        return 0;
    }
}
