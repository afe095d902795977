create table orders (id integer primary key, cents integer not null);
