"""The pages of connections, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.connections import browsing, choosing, views

app_name = "connections"

# Names have their own folder: a connection may be called `add`.
urlpatterns = [
    path("", views.list_page, name="list"),
    path("add/", choosing.choose_kind, name="choose"),
    path("add/postgresql/", views.add, name="add"),
    path("add/webhook/", views.add_webhook, name="add_webhook"),
    path("add/store/<slug:store_kind>/", views.add_store, name="add_store"),
    path("embedded/", views.add_embedded, name="embedded"),
    path("named/<slug:name>/", views.detail, name="detail"),
    path("named/<slug:name>/files/", browsing.files, name="files"),
    path("named/<slug:name>/test/", views.test, name="test"),
    path("named/<slug:name>/host-key/", views.host_key, name="host_key"),
    path("named/<slug:name>/password/", views.password, name="password"),
    path("named/<slug:name>/allow/", views.allowance, name="allow"),
    path("named/<slug:name>/remove/", views.remove, name="remove"),
]
