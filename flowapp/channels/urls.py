"""The pages of channels, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.channels import views

app_name = "channels"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("add/<slug:channel_kind>/", views.add, name="add"),
    path("of/<slug:channel>/", views.detail, name="detail"),
    path("of/<slug:channel>/test/", views.test, name="test"),
    path("of/<slug:channel>/again/<uuid:key>/", views.again, name="again"),
    path("of/<slug:channel>/filter/", views.change, name="filter"),
    path("of/<slug:channel>/address/", views.address, name="address"),
    path("of/<slug:channel>/secret/", views.secret, name="secret"),
    path("of/<slug:channel>/remove/", views.remove, name="remove"),
]
