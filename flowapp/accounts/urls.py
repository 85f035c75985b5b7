"""URLs of sign-in, sign-out and the Settings page of a workspace."""

from __future__ import annotations

from django.urls import path

from flowapp.accounts import login, views

app_name = "accounts"

urlpatterns = [
    path("login/", login.password_login, name="login"),
    path("login/<str:key>/", login.link_login, name="link"),
    path("logout/", login.log_out, name="logout"),
    path("password/", login.password, name="password"),
    path("w/<slug:workspace>/settings/", views.settings_page, name="settings"),
    path("w/<slug:workspace>/settings/members/", views.save_member, name="save_member"),
    path("w/<slug:workspace>/settings/members/<int:member>/remove/", views.drop_member, name="remove_member"),
    path("w/<slug:workspace>/settings/members/<int:member>/link/", views.member_link, name="member_link"),
    path("w/<slug:workspace>/settings/tokens/", views.make_token, name="make_token"),
    path("w/<slug:workspace>/settings/tokens/<uuid:token>/revoke/", views.drop_token, name="revoke_token"),
]
