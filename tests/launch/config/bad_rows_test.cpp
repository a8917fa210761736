// Every kind of bad table of rows.
#include "tests/launch/config/bad_job.hpp"

namespace tidegate::launch {
namespace {

class bad_rows : public testing::TestWithParam<bad_job> {};

TEST_P(bad_rows, are_refused_with_place_fault_and_what_is_allowed) {
  expect_refused(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    tables, bad_rows,
    testing::Values(
        bad_job{"    tables: {t: {rows: dynamic}}\n", "c.yaml:5:17: jobs.j.tables.t.dim",
                "is missing", "1 to 4096"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, capacity: 0}}\n", "c.yaml:5:51", "0",
                "1 to 68719476736"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, parts: 5000}}\n", "c.yaml:5:48",
                "5000", "1 to 4096"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, admit: {count: 0}}}\n", "c.yaml:5:56",
                "0", "1 to 65535"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, admit: {candidates: 9}}}\n",
                "c.yaml:5:17: jobs.j.tables.t", "admit.candidates where rows are made",
                "only with admit.count above 1"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, evict: {unseen: 0 clocks}}}\n",
                "c.yaml:5:57", "'0 clocks' is not allowed", "N clocks"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, evict: {unseen: 12}}}\n",
                "c.yaml:5:57", "'12' is not allowed", "N clocks"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, capacity: 9, evict: {rows: 9}}}\n",
                "c.yaml:5:17: jobs.j.tables.t", "capacity and evict.rows", "one of them"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, evict: {by: lru}}}\n",
                "c.yaml:5:17: jobs.j.tables.t", "evict.by without evict.rows",
                "only with evict.rows"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, evict: {rows: 9, by: age}}}\n",
                "c.yaml:5:62", "'age'", "lru, lfu, l2"},
        bad_job{"    tables: {t: {shape: [4], evict: {rows: 9}}}\n", "c.yaml:5:37",
                "does not belong to a dense table", "only with rows"},
        bad_job{"    tables: {t: {shape: [4], optimizer: {name: ftrl}}}\n",
                "c.yaml:5:17: jobs.j.tables.t", "'ftrl' steps tables of rows alone",
                "sgd, momentum"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, optimizer: {name: momentum}}}\n",
                "c.yaml:5:17: jobs.j.tables.t", "'momentum' does not step rows",
                "rowwise_adagrad, ftrl, group_adagrad"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, optimizer: adm}}\n", "c.yaml:5:52",
                "'adm'", "rowwise_adagrad, ftrl, group_adagrad"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, segments: [{columns: 3}]}}\n",
                "c.yaml:5:17: jobs.j.tables.t", "segments of 3 columns in rows of dim 4",
                "as many as dim"},
        bad_job{
            "    tables: {t: {rows: dynamic, segments: [{columns: 4000}, {columns: 97}]}}\n",
            "c.yaml:5:17: jobs.j.tables.t", "segments of 4097 columns", "1 to 4096"},
        bad_job{"    tables: {t: {rows: dynamic, segments: []}}\n", "c.yaml:5:43", "is a list",
                "1 to 8 maps"},
        bad_job{"    tables: {t: {rows: dynamic, segments: [{columns: 0}]}}\n", "c.yaml:5:54",
                "jobs.j.tables.t.segments[0].columns: 0", "1 to 4096"},
        bad_job{"    tables: {t: {rows: dynamic, segments: [{columns: 3, wide: 1}]}}\n",
                "c.yaml:5:57", "unknown key 'wide'", "columns, init, optimizer"},
        bad_job{"    tables: {t: {rows: dynamic, segments: [ftrl]}}\n", "c.yaml:5:44",
                "a plain value", "a map with columns"},
        bad_job{"    tables: {t: {rows: dynamic, optimizer: ftrl, segments: [{columns: 3}]}}\n",
                "c.yaml:5:44", "does not go with segments", "name of an optimizer"},
        bad_job{
            "    tables: {t: {rows: dynamic, segments: [{columns: 3, optimizer: momentum}]}}\n",
            "c.yaml:5:17: jobs.j.tables.t", "segments[0]: optimizer 'momentum' does not",
            "rowwise_adagrad, ftrl, group_adagrad"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, memory: 0}}\n", "c.yaml:5:49", "0",
                "64KiB for each part to 16TiB"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, memory: 4095KiB}}\n", "c.yaml:5:49",
                "4095KiB", "64KiB for each part to 16TiB"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, parts: 3, memory: 191KiB}}\n",
                "c.yaml:5:59", "191KiB", "64KiB for each part to 16TiB"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, memory: much}}\n", "c.yaml:5:49",
                "'much' is no size in bytes", "64KiB for each part to 16TiB"},
        bad_job{"    tables: {t: {rows: dynamic, dim: 4, memory: 16385GiB}}\n", "c.yaml:5:49",
                "16385GiB", "64KiB for each part to 16TiB"},
        bad_job{"    tables: {t: {shape: [4], memory: 1GiB}}\n", "c.yaml:5:38",
                "does not belong to a dense table", "only with rows"},
        bad_job{"    tables: {t: {shape: [4], segments: [{columns: 4}]}}\n", "c.yaml:5:40",
                "does not belong to a dense table", "only with rows"}));

}  // namespace
}  // namespace tidegate::launch
