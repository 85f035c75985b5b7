"""Values of the log are the same as those that a SELECT returns."""

from __future__ import annotations

from tests.executors.mysql_cdc.log_of_table import TableLog

NUMBERS = (
    "id int primary key, t1 tinyint, t2 tinyint unsigned, s1 smallint, s2 smallint unsigned, m1 mediumint,"
    " m2 mediumint unsigned, i1 int, i2 int unsigned, b1 bigint, b2 bigint unsigned, z int(8) zerofill, f float,"
    " g double, h double(10,2), d1 decimal(65,30), d2 decimal(10,0) unsigned, d3 decimal(9,9), bt bit(1), bx bit(64),"
    " y year, tf bool"
)
TIMES = (
    "id int primary key, d date, t0 time, t3 time(3), t6 time(6), dt datetime, dt1 datetime(1), dt6 datetime(6),"
    " ts timestamp null, ts2 timestamp(2) null, ts5 timestamp(5) null"
)
TEXTS = (
    "id int primary key, c char(5), v varchar(300), v2 varchar(20), l varchar(90) character set latin1,"
    " g char(9) character set greek, u varchar(20) character set ucs2, u16 text character set utf16le, tt tinytext,"
    " tx text, lt longtext, j json, b binary(6), vb varbinary(9), bb blob, e enum('a','b''c','d\\\\e','f,g'),"
    " s set('x','y''','z'), uu uuid, i4 inet4, i6 inet6"
)


def check(log: TableLog, columns: str, *changes: str) -> None:
    log.run(f"CREATE TABLE t ({columns})")
    log.read()
    log.run("SET time_zone = '+05:30'", *changes)
    log.read()
    assert len(log.rows) > 1
    assert log.difference() == []


def test_numbers(log: TableLog) -> None:
    check(
        log,
        NUMBERS,
        "INSERT INTO t (id) VALUES (0)",
        "INSERT INTO t VALUES (1,-128,255,-32768,65535,-8388608,16777215,-2147483648,4294967295,-9223372036854775808,"
        "18446744073709551615,42,1.1,1.1,12345678.91,12345678901234567890123456789012345.123456789012345678901234567890,"
        "4294967296,0.123456789,1,b'1111111111111111111111111111111111111111111111111111111111111111',2155,true)",
        "INSERT INTO t VALUES (2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,false)",
        "INSERT INTO t VALUES (3,-1,1,-1,1,-1,1,-1,1,-1,1,1,-3.4e38,-1.7e308,-0.01,-0.000000000000000000000000000001,"
        "1,-0.999999999,0,5,1901,1)",
        "INSERT INTO t (id, d1, d3, f, g) VALUES (4, -99999999999999999999999999999999999.5, 0.000000001, 1e-40,"
        " 5e-324)",
    )


def test_dates_and_times(log: TableLog) -> None:
    check(
        log,
        TIMES,
        "INSERT INTO t (id) VALUES (0)",
        "INSERT INTO t VALUES (1,'2024-02-29','12:34:56','-838:59:58.999','00:00:00.000001','2024-02-29 23:59:59',"
        "'1000-01-01 00:00:00.1','9999-12-31 23:59:59.999999','2024-03-10 01:02:03','2038-01-19 03:14:07.99',"
        "'1970-01-01 05:30:01.00001')",
        "INSERT INTO t VALUES (2,'0000-00-00','-00:00:01','-00:00:00.5','838:59:59','0000-00-00','0000-00-00',"
        "'2024-00-10 00:00:00','0000-00-00','0000-00-00','2000-01-01 00:00:00.12345')",
        "INSERT INTO t VALUES (3,'2024-01-00','00:00:00','100:00:00.001','-25:00:00.000001','0001-01-01','2001-02-03',"
        "'2001-02-03 04:05:06.000007','2000-02-29','1999-12-31 23:59:59.9','2016-12-31 23:59:59')",
    )


def test_dates_and_times_in_the_formats_of_old_servers(log: TableLog) -> None:
    log.server.run("SET GLOBAL mysql56_temporal_format = OFF")
    try:
        check(
            log,
            "id int primary key, t0 time, dt datetime, ts timestamp null",
            "INSERT INTO t VALUES (1,'-838:59:59','9999-12-31 23:59:59','2024-03-10 01:02:03')",
            "INSERT INTO t VALUES (2,'00:00:01','0000-00-00','0000-00-00'), (3,NULL,NULL,NULL)",
        )
    finally:
        log.server.run("SET GLOBAL mysql56_temporal_format = ON")


def test_texts_and_bytes(log: TableLog) -> None:
    check(
        log,
        TEXTS,
        "INSERT INTO t (id) VALUES (0)",
        "INSERT INTO t VALUES (1,'ab  ','é€😀\\n\"quoted\", ','x','é€ÿ','αβγ','日本','日本😀',' tiny ','',"
        "REPEAT('é',70000),"
        "'{\"a\": [1, null]}','ab',x'0100',x'00FF220A','b''c','x,z','123e4567-e89b-12d3-a456-426655440000','10.1.2.3',"
        "'2001:db8::1')",
        "INSERT INTO t (id, c, v, b, e, s, uu, i4, i6) VALUES (2,'','','','d\\\\e','',"
        "'00000000-0000-0000-0000-000000000000',"
        "'0.0.0.0','::')",
        "INSERT INTO t (id, e, i6) VALUES (3,'unknown','::ffff:1.2.3.4'), (4,'f,g','::1.2.3.4'), (5,'a','::1'),"
        " (6,'a','1:0:2:3:4:5:6:7'), (7,'a','1:0:0:2:0:0:0:7'), (8,'a','fe80::'), (9,'a','::1:2'),"
        " (10,'a','1:2:3:4:5:6:7:0')",
        "INSERT INTO t (id, s) VALUES (11, 'y'',x')",
    )


def test_invalid_texts_are_reported_in_the_same_way(log: TableLog) -> None:
    log.run("CREATE TABLE t (id int primary key, v varchar(20) character set latin1)")
    log.read()
    log.run("INSERT INTO t VALUES (1, UNHEX('818D8F909D')), (2, 'good')")
    log.read()
    assert log.difference() == []


def test_generated_and_invisible_columns_and_long_unique_keys(log: TableLog) -> None:
    log.run(
        "CREATE TABLE t (id int primary key, a int, v int AS (a + 1) VIRTUAL, s int AS (a + 2) STORED,"
        " hidden int INVISIBLE DEFAULT 4, words text UNIQUE)"
    )
    log.read()
    log.run("INSERT INTO t (id, a, words) VALUES (1, 1, 'x'), (2, NULL, NULL)", "UPDATE t SET words = 'y' WHERE id = 1")
    log.read()
    assert log.difference() == []
    assert set(log.rows["1",]) == {"_flow_bad", "id", "a", "v", "s", "words"}
